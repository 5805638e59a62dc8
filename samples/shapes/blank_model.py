"""Make the untrained model: its tokenizer, chat template, image processor and configuration.

The tokenizer is a byte-level BPE: all 256 bytes are tokens, so any text can be read and any text can be
demanded by guided decoding. Its merges are trained on captions and on the kind of text that asks for them,
and each phrase of a caption ("A red", " circle", " at the top left", ", moving right.") is one token: a
caption is four tokens long.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from make_clip import COLOURS, PLACES, SHAPES
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3ImageProcessorPil,
    Idefics3Processor,
    PreTrainedTokenizerFast,
)

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM, USER, ASSISTANT, END, PAD = "<|system|>", "<|user|>", "<|assistant|>", "<end_of_utterance>", "<|pad|>"
FAKE, GLOBAL, IMAGE = "<fake_token_around_image>", "<global-img>", "<image>"
SPECIALS = [PAD, END, SYSTEM, USER, ASSISTANT, FAKE, GLOBAL, IMAGE]
VOCABULARY = 768
PICTURE, PATCH, SHUFFLE = 64, 8, 2
IMAGE_TOKENS = (PICTURE // PATCH // SHUFFLE) ** 2

SUBJECTS = [f"{'An' if colour == 'orange' else 'A'} {colour}" for colour in COLOURS]
FORMS = [f" {shape}" for shape in SHAPES]
WHERE = [f" {place}" for row in PLACES for place in row]
DIRECTIONS = ["up", "down", "left", "right"] + [
    f"{a} and {b}" for a in ("up", "down") for b in ("left", "right")
]
MOVES = [".", *(f", moving {direction}." for direction in DIRECTIONS), ", standing still."]
JSON_OPEN, JSON_CLOSE = '{"caption": "', '"}'
SLOTS = (SUBJECTS, FORMS, WHERE, MOVES)
"""The four phrases of a caption, in their order."""

TEMPLATE = """\
{%- for message in messages -%}
{{- '<|' + message['role'] + '|>' -}}
{%- if message['content'] is string -%}{{- message['content'] -}}
{%- else -%}
{%- for part in message['content'] -%}
{%- if part['type'] == 'image' -%}{{- '<image>' -}}
{%- elif part['type'] == 'text' -%}{{- part['text'] -}}
{%- endif -%}
{%- endfor -%}
{%- endif -%}
{{- '<end_of_utterance>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}
"""

PROMPTS = [
    "Describe what is happening in each frame in one short sentence.",
    (
        "You are a video captioner. For every frame, write one complete sentence that says what is there "
        "and how it moved."
    ),
    "Describe this video.",
    "What is happening in the video?",
    "What do you see? How did it move since the last frame?",
    "Caption each frame of the stream in a single sentence. Be brief and concrete.",
    "You are a helpful assistant that watches a live camera and describes what changes between frames.",
    "Describe the scene, the objects, their colours and their positions, in English, as a short caption.",
    "Answer with JSON: an object with a caption.",
    "Reply in JSON only.",
    "Is there a red circle in this picture? Which colour is the shape? Where is it now?",
    ("Please describe what is going on in this image and mention any motion, people, animals, cars or text."),
    (
        "You will be shown the frames of a video one after another. After each frame, state in one "
        "sentence what the frame shows and what has changed since the frame before it. Do not repeat "
        "yourself, do not speculate about what can not be seen, and do not mention these instructions. "
        "If nothing has changed, say so. If there is no earlier frame, only describe what the picture "
        "shows. Keep every answer short, because it will be read aloud to a person who is watching the "
        "same stream and has little time for long answers."
    ),
]


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Train the tokenizer and check that every phrase of a caption is one token."""
    phrases = [*SUBJECTS, *FORMS, *WHERE, *MOVES, JSON_OPEN, JSON_CLOSE]
    known = "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(
                Regex(rf"{known}| ?\p{{L}}+| ?\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+|\s+"), "isolated"
            ),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(phrases * 100 + PROMPTS * 2, trainer)
    for phrase in phrases:
        if len(tokenizer.encode(phrase).ids) != 1:
            raise RuntimeError(f"{phrase!r} is not one token; a larger vocabulary is needed")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[SYSTEM, USER, ASSISTANT, FAKE, GLOBAL, IMAGE],
        model_max_length=16384,
        clean_up_tokenization_spaces=False,
    )


def make_processor() -> Idefics3Processor:
    """One picture is one tile of 64 × 64, whatever its size was."""
    pictures = Idefics3ImageProcessorPil(
        do_image_splitting=False,
        size={"longest_edge": PICTURE},
        max_image_size={"longest_edge": PICTURE},
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return Idefics3Processor(pictures, make_tokenizer(), image_seq_len=IMAGE_TOKENS, chat_template=TEMPLATE)


def make_model(processor: Idefics3Processor) -> Idefics3ForConditionalGeneration:
    """The model with random weights."""
    tokenizer = processor.tokenizer
    special = {name: tokenizer.convert_tokens_to_ids(token) for name, token in (("eos", END), ("pad", PAD))}
    config = Idefics3Config(
        image_token_id=tokenizer.convert_tokens_to_ids(IMAGE),
        pad_token_id=special["pad"],
        scale_factor=SHUFFLE,
        tie_word_embeddings=False,
        vision_config={
            "hidden_size": 96,
            "intermediate_size": 320,
            "num_hidden_layers": 3,
            "num_attention_heads": 3,
            "image_size": PICTURE,
            "patch_size": PATCH,
        },
        text_config={
            "model_type": "llama",
            "vocab_size": VOCABULARY,
            "hidden_size": 192,
            "intermediate_size": 512,
            "num_hidden_layers": 4,
            "num_attention_heads": 6,
            "num_key_value_heads": 6,
            "head_dim": 32,
            "max_position_embeddings": 16384,
            "rope_theta": 10000.0,
            "bos_token_id": None,
            "eos_token_id": special["eos"],
            "pad_token_id": special["pad"],
            "tie_word_embeddings": False,
            "initializer_range": 0.04,
        },
    )
    model = Idefics3ForConditionalGeneration(config)
    model.model.vision_model.embeddings.position_embedding.weight.data.normal_(std=0.3)
    model.generation_config.eos_token_id = special["eos"]
    model.generation_config.pad_token_id = special["pad"]
    model.generation_config.bos_token_id = None
    return model


def save(folder: Path, model: Idefics3ForConditionalGeneration, processor: Idefics3Processor) -> None:
    """Write everything that loads the model again."""
    processor.save_pretrained(folder)
    model.save_pretrained(folder)
