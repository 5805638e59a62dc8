"""Which sessions a model can hold: both inequalities strict, the never and the not-now apart."""

import pytest

from engine.vllm.admission import Capacity
from protocol.errors import EngineError, InvalidRequest, Unavailable
from protocol.messages import Retention, Sampling, SessionConfig


def capacity(**changes: int) -> Capacity:
    usual = {
        "context_tokens": 32_768,
        "trained_positions": 32_768,
        "cache_tokens": 100_000,
        "block_tokens": 16,
        "images": 64,
        "waiting_requests": 4,
    }
    return Capacity(**{**usual, **changes})


def admit(held: Capacity, *, reserved: int = 0, max_tokens: int = 24, **retention: float) -> int:
    config = SessionConfig(system_prompt="x", sampling=Sampling(max_tokens=max_tokens))
    return held.admit(config, Retention.model_validate(retention), reserved)


def test_session_and_reply_stay_below_the_context() -> None:
    assert admit(capacity(context_tokens=7025), max_session_tokens=7000, max_tokens=24) == 7024
    with pytest.raises(InvalidRequest, match=r"max_session_tokens \(7000\) and max_tokens \(24\) together"):
        admit(capacity(context_tokens=7024), max_session_tokens=7000, max_tokens=24)


def test_the_session_stays_below_the_reprefill_threshold() -> None:
    assert admit(capacity(trained_positions=10_001), max_session_tokens=7000, reprefill_threshold=0.7)
    with pytest.raises(InvalidRequest, match=r"below reprefill_threshold \(0\.7\) of the model's 10000"):
        admit(capacity(trained_positions=10_000), max_session_tokens=7000, reprefill_threshold=0.7)


def test_a_window_that_never_fits_is_invalid_and_one_that_does_not_fit_now_is_unavailable() -> None:
    assert admit(capacity(images=8), max_video_segments=8)
    with pytest.raises(InvalidRequest, match=r"max_video_segments \(9\) is more than the 8"):
        admit(capacity(images=8), max_video_segments=9)
    with pytest.raises(InvalidRequest, match="never fits"):
        admit(capacity(cache_tokens=7023))
    assert admit(capacity(cache_tokens=2 * 7024), reserved=7024) == 7024
    with pytest.raises(Unavailable, match=r"beside the sessions open now \(7024 of 14047 are taken\)"):
        admit(capacity(cache_tokens=2 * 7024 - 1), reserved=7024)


def test_whole_blocks_are_reserved() -> None:
    assert admit(capacity(block_tokens=128), max_session_tokens=7000, max_tokens=24) == 55 * 128
    with pytest.raises(InvalidRequest, match="never fits"):
        admit(capacity(block_tokens=128, cache_tokens=55 * 128 - 1), max_session_tokens=7000, max_tokens=24)


def test_the_default_shrinks_for_a_small_model() -> None:
    assert capacity().default_retention(24).model_dump() == {
        "max_video_segments": 8,
        "max_text_tokens": None,
        "max_session_tokens": 7000,
        "eviction_policy": "sliding_window",
        "reprefill_threshold": 0.7,
    }
    for small in (
        capacity(context_tokens=4096),
        capacity(trained_positions=4096),
        capacity(cache_tokens=4096),
    ):
        shrunk = small.default_retention(24)
        assert 1024 <= shrunk.max_session_tokens < 4096
        assert admit(small, **shrunk.model_dump(exclude={"eviction_policy", "max_text_tokens"}))
    assert capacity(images=4).default_retention(24).max_video_segments == 4


def test_a_model_too_small_for_any_session_is_an_error() -> None:
    with pytest.raises(EngineError, match="context of 1024 tokens is too small"):
        capacity(context_tokens=1024).default_retention(24)


def test_one_prompt_and_its_reply_must_fit() -> None:
    whole = capacity(context_tokens=1000, cache_tokens=960, block_tokens=32, images=2)
    assert whole.admit_once(900, 50, 2, 0) == 960
    with pytest.raises(InvalidRequest, match="takes 990 tokens"):
        whole.admit_once(990, 11, 1, 0)
    with pytest.raises(InvalidRequest, match="there are 3 pictures"):
        whole.admit_once(100, 10, 3, 0)
    with pytest.raises(InvalidRequest, match="never fits"):
        whole.admit_once(970, 10, 1, 0)
    with pytest.raises(Unavailable, match="do not fit"):
        whole.admit_once(100, 10, 1, 900)
