"""Settings: a plain dict in, frozen and checked objects out. Defaults live in conf/ and nowhere else."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeVar

import pydantic
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from nmt.errors import SettingsError

Share = Annotated[float, Field(ge=0, lt=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]
Files = str | list[str]
Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["auto", "float32", "bfloat16", "float16"]
TiedEmbeddings = Literal["none", "two_way", "three_way"]
Cell = Literal["lstm", "gru", "tanh"]


class Settings(pydantic.BaseModel):
    """What all settings have in common: no change after the check, and no key that nobody reads."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)


class RNNSettings(Settings):
    """See conf/model/rnn.yaml."""

    kind: Literal["rnn"]
    cell: Cell
    d_embedding: PositiveInt
    d_hidden: PositiveInt
    num_layers: PositiveInt
    bidirectional: bool
    context: Literal["last", "mean"]
    context_use: Literal["initial", "every_step", "both"]
    context_join: Literal["concatenate", "add"]
    dropout: Share
    tied_embeddings: TiedEmbeddings


class AttentionScoreSettings(Settings):
    """See conf/model/attention.yaml."""

    score: Literal["additive", "dot", "scaled_dot", "general"]
    d_attention: PositiveInt
    join: Literal["input", "output", "output_only"]


class AttentionSettings(Settings):
    """See conf/model/attention.yaml."""

    kind: Literal["attention"]
    cell: Cell
    d_embedding: PositiveInt
    d_hidden: PositiveInt
    num_layers: PositiveInt
    bidirectional: bool
    attention: AttentionScoreSettings
    dropout: Share
    tied_embeddings: TiedEmbeddings


class TransformerSettings(Settings):
    """See conf/model/transformer.yaml."""

    kind: Literal["transformer"]
    num_encoder_layers: PositiveInt
    num_decoder_layers: PositiveInt
    d_model: PositiveInt
    d_ff: PositiveInt
    num_heads: PositiveInt
    norm: Literal["pre", "post"]
    positions: Literal["sinusoidal", "learned"]
    max_positions: PositiveInt
    activation: Literal["relu", "gelu"]
    dropout: Share
    tied_embeddings: TiedEmbeddings

    @pydantic.model_validator(mode="after")
    def _check_widths(self) -> Self:
        if self.d_model % self.num_heads:
            raise ValueError(
                f"d_model: a multiple of num_heads={self.num_heads} is needed; got {self.d_model}; "
                f"{self.d_model - self.d_model % self.num_heads + self.num_heads} would do"
            )
        if self.d_model % 2:
            raise ValueError(f"d_model: an even number is needed; got {self.d_model}")
        return self


ModelSettings = Annotated[RNNSettings | AttentionSettings | TransformerSettings, Field(discriminator="kind")]


class GrammarData(Settings):
    """See conf/data/grammar.yaml."""

    kind: Literal["grammar"]
    seed: NonNegativeInt
    num_train: PositiveInt
    num_validation: PositiveInt
    num_test: PositiveInt
    max_length: PositiveInt


class TextPair(Settings):
    """The files of the two sides."""

    source: Files
    target: Files


class OptionalTextPair(Settings):
    """The files of the two sides; none where there is no such text."""

    source: Files | None
    target: Files | None

    @pydantic.model_validator(mode="after")
    def _check_both(self) -> Self:
        if (self.source is None) != (self.target is None):
            given, missing = ("source", "target") if self.target is None else ("target", "source")
            raise ValueError(f"{missing}: a file is needed, since {given} is given; got null")
        return self


class FilesData(Settings):
    """See conf/data/files.yaml."""

    kind: Literal["files"]
    train: TextPair
    validation: TextPair
    test: OptionalTextPair
    max_length: PositiveInt


class Multi30kData(Settings):
    """See conf/data/multi30k.yaml."""

    kind: Literal["multi30k"]
    directory: str
    source_language: Literal["de", "en", "fr", "cs"]
    target_language: Literal["de", "en", "fr", "cs"]
    max_length: PositiveInt


class HubData(Settings):
    """See conf/data/hub.yaml."""

    kind: Literal["hub"]
    path: str
    name: str | None
    data_files: dict[str, Files] | None
    source_column: str
    target_column: str
    train_split: str
    validation_split: str
    test_split: str | None
    max_length: PositiveInt


DataSettings = Annotated[GrammarData | FilesData | Multi30kData | HubData, Field(discriminator="kind")]


class TokenizerSettings(Settings):
    """See conf/tokenizer/."""

    kind: Literal["unigram", "bpe", "word", "char"]
    vocabulary_size: Annotated[int, Field(ge=5)]
    character_coverage: PositiveShare
    byte_fallback: bool
    normalization: Literal["identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"]
    joint: bool
    model: str | None

    @pydantic.model_validator(mode="after")
    def _check_sides(self) -> Self:
        if self.model is not None and not self.joint:
            raise ValueError("joint: true is needed, since `model` is one vocabulary for both sides; got false")
        return self


class AdamSettings(Settings):
    """See conf/optimizer/adam.yaml."""

    kind: Literal["adam"]
    learning_rate: PositiveFloat
    betas: tuple[Share, Share]
    epsilon: PositiveFloat


class AdamWSettings(Settings):
    """See conf/optimizer/adamw.yaml."""

    kind: Literal["adamw"]
    learning_rate: PositiveFloat
    betas: tuple[Share, Share]
    epsilon: PositiveFloat
    weight_decay: NonNegativeFloat


OptimizerSettings = Annotated[AdamSettings | AdamWSettings, Field(discriminator="kind")]


class InverseSquareRootSettings(Settings):
    """See conf/schedule/inverse_square_root.yaml."""

    kind: Literal["inverse_square_root"]
    warmup_updates: PositiveInt


class NoamSettings(Settings):
    """See conf/schedule/noam.yaml."""

    kind: Literal["noam"]
    factor: PositiveFloat
    d_model: PositiveInt
    warmup_updates: PositiveInt


class CosineSettings(Settings):
    """See conf/schedule/cosine.yaml."""

    kind: Literal["cosine"]
    warmup_updates: NonNegativeInt
    final_share: Share


class ConstantSettings(Settings):
    """See conf/schedule/constant.yaml."""

    kind: Literal["constant"]
    warmup_updates: NonNegativeInt


ScheduleSettings = Annotated[
    InverseSquareRootSettings | NoamSettings | CosineSettings | ConstantSettings, Field(discriminator="kind")
]


class TrainingSettings(Settings):
    """See conf/training/default.yaml."""

    max_updates: PositiveInt
    max_epochs: PositiveInt | None
    max_seconds: PositiveFloat | None
    update_tokens: PositiveInt
    max_tokens: PositiveInt
    label_smoothing: Share
    max_gradient_norm: PositiveFloat
    teacher_forcing_ratio: Annotated[float, Field(ge=0, le=1)]
    validate_every: PositiveInt
    checkpoint_every: PositiveInt
    keep_checkpoints: Annotated[int, Field(ge=2)]
    patience: PositiveInt | None
    log_every: PositiveInt


class SearchSettings(Settings):
    """What greedy and beam search have in common."""

    max_length_ratio: NonNegativeFloat
    max_length_extra: NonNegativeInt
    min_length: NonNegativeInt
    max_source_tokens: PositiveInt
    max_tokens: PositiveInt


class GreedySettings(SearchSettings):
    """See conf/decoding/greedy.yaml."""

    kind: Literal["greedy"]


class BeamSettings(SearchSettings):
    """See conf/decoding/beam.yaml."""

    kind: Literal["beam"]
    beam_size: PositiveInt
    length_penalty: NonNegativeFloat
    length_penalty_kind: Literal["power", "wu"]


DecodingSettings = Annotated[GreedySettings | BeamSettings, Field(discriminator="kind")]


class EvaluationSettings(Settings):
    """See conf/evaluation/default.yaml."""

    lowercase: bool
    tokenize: Literal["13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none"]


class ModelFiles(Settings):
    """What translating with a finished run needs of its settings; old runs stay readable by it."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")

    model: ModelSettings
    tokenizer: TokenizerSettings
    decoding: DecodingSettings


class TrainSettings(Settings):
    """See conf/train.yaml."""

    run: str | None
    resume: bool
    seed: NonNegativeInt
    device: Device
    precision: Precision
    data: DataSettings
    tokenizer: TokenizerSettings
    model: ModelSettings
    optimizer: OptimizerSettings
    schedule: ScheduleSettings
    training: TrainingSettings
    decoding: DecodingSettings
    evaluation: EvaluationSettings

    @pydantic.model_validator(mode="after")
    def _check_together(self) -> Self:
        model, ratio = self.model, self.training.teacher_forcing_ratio
        if isinstance(model, TransformerSettings):
            if ratio < 1:
                raise ValueError(
                    "training.teacher_forcing_ratio: 1.0 is needed for model=transformer, which predicts all "
                    f"positions at once; got {ratio}"
                )
            if self.data.max_length >= model.max_positions:
                raise ValueError(
                    f"model.max_positions: more than data.max_length={self.data.max_length} is needed; "
                    f"got {model.max_positions}"
                )
        if model.tied_embeddings == "three_way" and not self.tokenizer.joint:
            raise ValueError(
                "model.tied_embeddings: none or two_way is needed with two vocabularies "
                "(tokenizer.joint=false); got three_way"
            )
        if self.resume and self.run is None:
            raise ValueError("run: the folder of the run is needed with resume=true; got null")
        return self


class TranslateSettings(Settings):
    """See conf/translate.yaml."""

    run: str
    checkpoint: str
    input: str | None
    output: str | None
    overwrite: bool
    device: Device
    precision: Precision
    decoding: DecodingSettings


class EvaluateSettings(Settings):
    """See conf/evaluate.yaml."""

    run: str | None
    checkpoint: str
    split: Literal["test", "validation"]
    source: str | None
    reference: str | None
    hypothesis: str | None
    json_file: str | None = Field(alias="json")
    overwrite: bool
    device: Device
    precision: Precision
    decoding: DecodingSettings
    evaluation: EvaluationSettings

    @pydantic.model_validator(mode="after")
    def _check_what(self) -> Self:
        if (self.run is None) == (self.hypothesis is None):
            raise ValueError("run: either `run` or `hypothesis` says what to score; got both or neither")
        if self.hypothesis is not None and self.reference is None:
            raise ValueError("reference: the file to compare `hypothesis` with is needed; got null")
        if self.run is not None and (self.source is None) != (self.reference is None):
            raise ValueError("source, reference: both are needed, or neither; got one of them")
        return self


SettingsT = TypeVar("SettingsT", bound=Settings)


def check(settings_class: type[SettingsT], values: Mapping[str, Any], prefix: str = "") -> SettingsT:
    """Check a plain dict and return it as frozen settings.

    `prefix` stands before the keys in messages: the file that they come from.
    Raises SettingsError with one line for each thing that is wrong.
    """
    try:
        return settings_class.model_validate(values)
    except pydantic.ValidationError as error:
        problems = [_one_line(problem, values) for problem in error.errors(include_url=False)]
        raise SettingsError([prefix + problem for problem in dict.fromkeys(problems)]) from None


def _one_line(problem: Any, values: Mapping[str, Any]) -> str:
    path = _path_of_keys(problem["loc"], values)
    key, kind, given = ".".join(path), problem["type"], problem["input"]
    if kind == "value_error":
        message = str(problem["ctx"]["error"])
        return f"{key}.{message}" if key else message
    if kind == "missing":
        return f"{key}: a value is needed; got none"
    if given == "???":
        return f"{key}: a value is needed; got none; give it as {key}=VALUE"
    if kind == "extra_forbidden":
        return f"{key}: no such key"
    if kind == "literal_error":
        choices = problem["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        return f"{key}: one of {', '.join(choices)} is needed; got {_show(given)}" + nearest(given, choices)
    if kind == "union_tag_invalid":
        choices = problem["ctx"]["expected_tags"].replace("'", "").split(", ")
        tag = problem["ctx"]["tag"]
        return f"{key}.kind: one of {', '.join(choices)} is needed; got {tag}" + nearest(tag, choices)
    expected = problem["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    return f"{key}: {expected} is needed; got {_show(given)}"


def _path_of_keys(location: Sequence[str | int], values: Any) -> list[str]:
    """Leave out of pydantic's location what is no key of the settings: tags and members of unions."""
    path = []
    for index, part in enumerate(location):
        is_last = index == len(location) - 1
        if isinstance(values, Mapping) and (part in values or is_last and isinstance(part, str)):
            path.append(str(part))
            values = values.get(part)
        elif isinstance(values, list) and isinstance(part, int):
            path.append(str(part))
            values = values[part] if part < len(values) else None
    return path


def _show(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def nearest(word: Any, choices: Sequence[str]) -> str:
    """Return `; did you mean …?` for the choice that is closest to `word`, or nothing."""
    close = difflib.get_close_matches(str(word), choices, n=1)
    return f"; did you mean {close[0]}?" if close else ""
