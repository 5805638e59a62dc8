"""Train the captioner of coloured shapes, on a CPU, in about an hour.

    python samples/shapes/train.py OUT --work /tmp/shapes

First the picture encoder learns to tell colour, shape and position apart, from single pictures: each of a
picture's 16 tokens must tell all of them. Then the whole model is trained on windows of a session (see
`windows.py`), at first short ones, later up to 64 frames. A checkpoint is written every few minutes; started
again with the same --work, the training goes on from it.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from blank_model import make_model, make_processor, save
from torch import nn
from torch.nn.functional import cross_entropy
from windows import IGNORED, Batch, Windows

if TYPE_CHECKING:
    from transformers import Idefics3ForConditionalGeneration

LABELS = (6, 4, 6, 6)
"""How many colours, shapes, columns and rows there are."""
BF16 = torch.autocast("cpu", torch.bfloat16)


def look(model: Idefics3ForConditionalGeneration, pictures: np.ndarray) -> torch.Tensor:
    """Picture tokens, (frames, 16, hidden), of pictures given as 0..255."""
    pixels = torch.from_numpy(pictures).permute(0, 3, 1, 2).div(127.5).sub(1).contiguous()
    patches = torch.ones((len(pictures), 8, 8), dtype=torch.bool)
    vision = model.model.vision_model(pixel_values=pixels, patch_attention_mask=patches)
    tokens: torch.Tensor = model.model.connector(vision.last_hidden_state)
    return tokens


def read(
    model: Idefics3ForConditionalGeneration, batch: Batch
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Logits and targets at the places that have a target; and the picture tokens."""
    ids, targets = torch.from_numpy(batch.ids), torch.from_numpy(batch.targets)
    embeds = model.get_input_embeddings()(ids)
    seen = look(model, batch.pictures).to(embeds.dtype)
    embeds = embeds.masked_scatter((ids == model.config.image_token_id)[..., None], seen)
    hidden = model.model.text_model(inputs_embeds=embeds, use_cache=False).last_hidden_state
    wanted = targets != IGNORED
    return model.lm_head(hidden[wanted]).float(), targets[wanted], seen


def optimizer_for(parameters: list[nn.Parameter], rate: float) -> torch.optim.AdamW:
    """AdamW that lets vectors (norms, biases) alone."""
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.05},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), eps=1e-8)


def yield_cores(most: int) -> None:
    """Use as many threads as there are idle cores; a thread that waits for its core stalls all the others."""
    busy = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0]) - 1
    torch.set_num_threads(max(1, min(most, (os.cpu_count() or 1) - busy)))


def rate_at(step: int, steps: int, warmup: int = 100) -> float:
    """A cosine from 1 to 0.02 after a warm-up."""
    if step < warmup:
        return (step + 1) / warmup
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / (steps - warmup))))


def train_sight(model: Idefics3ForConditionalGeneration, windows: Windows, steps: int, threads: int) -> None:
    """Teach the picture encoder with one linear reader for each label on every picture token."""
    hidden = model.config.text_config.hidden_size
    readers = nn.ModuleList(nn.Linear(hidden, labels) for labels in LABELS)
    parts = [model.model.vision_model, model.model.connector, readers]
    parameters = [parameter for part in parts for parameter in part.parameters()]
    optimizer = optimizer_for(parameters, 1.5e-3)
    began = time.monotonic()
    for step in range(steps):
        yield_cores(threads)
        pictures, labels = windows.scenes(128)
        truth = torch.from_numpy(labels)[:, None, :].expand(-1, 16, -1)
        with BF16:
            tokens = look(model, pictures)
            scores = [reader(tokens).float() for reader in readers]
        loss = torch.stack(
            [cross_entropy(score.flatten(0, 1), truth[..., i].flatten()) for i, score in enumerate(scores)]
        ).sum()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = 1.5e-3 * rate_at(step, steps)
        optimizer.step()
        if step % 25 == 0 or step == steps - 1:
            right = [float((s.argmax(-1) == truth[..., i]).float().mean()) for i, s in enumerate(scores)]
            shown = " ".join(f"{value:.3f}" for value in right)
            print(
                f"sight {step} {time.monotonic() - began:.0f}s loss {loss.item():.3f} right {shown}",
                flush=True,
            )


def rightness(model: Idefics3ForConditionalGeneration, windows: Windows, length: int) -> str:
    """Share of right tokens on fresh windows, for each of a caption's four phrases."""
    batch = windows.batch(96, length)
    with torch.no_grad(), BF16:
        logits, targets, _ = read(model, batch)
    right = logits.argmax(-1) == targets
    shares = [right[torch.isin(targets, torch.tensor(known))].float().mean() for known in windows.slots]
    return f"{length}: " + " ".join(f"{share:.3f}" for share in shares)


def length_at(rng: np.random.Generator, step: int, steps: int) -> int:
    """Frames a window: 2 to 4 at first, later 1 to 16, at times 32 or 64."""
    done = step / steps
    if done < 0.08:
        return int(rng.integers(2, 5))
    draw = rng.random()
    if done > 0.5 and draw < 0.12:
        return int(rng.choice((24, 32, 48, 64)))
    return int(rng.integers(2, 17 if done > 0.2 else 9))


def train(options: argparse.Namespace) -> None:
    """Run or resume the training."""
    torch.manual_seed(options.seed)
    processor = make_processor()
    tokenizer = processor.tokenizer
    model = make_model(processor)
    model.model.vision_model.set_attn_implementation("eager")  # on a CPU, faster for 64 patches
    options.work.mkdir(parents=True, exist_ok=True)
    checkpoint = options.work / "checkpoint.pt"
    optimizer = optimizer_for(list(model.parameters()), options.rate)
    reader = nn.Linear(model.config.text_config.hidden_size, LABELS[1])  # keeps the encoder's eye on shapes
    reader_optimizer = torch.optim.AdamW(reader.parameters(), lr=3e-3)
    start = 0
    if checkpoint.exists():
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        start = state["step"]
        if state.get("optimizer"):
            optimizer.load_state_dict(state["optimizer"])
    else:
        train_sight(model, Windows(tokenizer, options.seed), options.sight_steps, options.threads)
        torch.save({"model": model.state_dict(), "step": 0}, checkpoint)
    windows = Windows(tokenizer, options.seed + 1000 + start)
    began = saved = time.monotonic()
    losses: list[float] = []
    shapes = torch.tensor(windows.slots[1])  # the hardest word weighs three times as much as the others
    for step in range(start, options.steps):
        yield_cores(options.threads)
        batch = windows.batch(options.frames, length_at(windows.rng, step, options.steps))
        with BF16:
            logits, targets, tokens = read(model, batch)
            forms = reader(tokens).float()
        weights = 1.0 + 2.0 * torch.isin(targets, shapes)
        loss = (cross_entropy(logits, targets, reduction="none") * weights).sum() / weights.sum()
        truth = torch.from_numpy(batch.forms)[:, None].expand(-1, forms.shape[1])
        loss += 0.5 * cross_entropy(forms.flatten(0, 1), truth.flatten())
        optimizer.zero_grad()
        reader_optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = options.rate * rate_at(step, options.steps)
        optimizer.step()
        reader_optimizer.step()
        losses.append(loss.item())
        if step % 20 == 0:
            spent = time.monotonic() - began
            print(f"step {step} {spent:.0f}s loss {np.mean(losses[-20:]):.4f}", flush=True)
        last = step == options.steps - 1
        if time.monotonic() - saved > 120 or last:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
            torch.save(state, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").replace(checkpoint)
            fresh = Windows(tokenizer, 10**6)
            shown = ", ".join(rightness(model, fresh, length) for length in (2, 8, 16, 64))
            print(f"step {step} right {shown}", flush=True)
            saved = time.monotonic()
    save(options.out, model.to(torch.bfloat16), processor)


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="the folder to write the model to")
    parser.add_argument("--work", type=Path, required=True, help="the folder that keeps the checkpoint")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--sight-steps", type=int, default=500)
    parser.add_argument("--frames", type=int, default=128, help="frames a step")
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
