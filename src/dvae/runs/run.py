"""A run: one folder with settings, model, checkpoints, metrics, evaluations and studies."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from dvae.config import replace
from dvae.dag import Dag, DagSet, Dataset, write_jsonl
from dvae.devices import available_device
from dvae.errors import CheckpointError, ConfigError, DvaeError, FormatError
from dvae.evaluation import (
    Evaluation,
    Generation,
    Prediction,
    Predictivity,
    Predictor,
    fit_predictor,
    judge_generation,
)
from dvae.evaluation import evaluate as measure
from dvae.evaluation import predictivity as measure_predictivity
from dvae.evaluation.choice import Chooser
from dvae.evaluation.generation import check_conditions
from dvae.evaluation.prediction import LEVEL, predictable
from dvae.files import read_json, write_json
from dvae.models import VAE, Posterior, build, load, storage
from dvae.models.config import preset_settings
from dvae.reports import report as write_report
from dvae.runs.auto import AutoSettings, auto_settings
from dvae.runs.chooser import fitted_chooser
from dvae.runs.config import (
    FILE,
    RunConfig,
    changed_config,
    check_resumable,
    read_config,
    run_settings,
    write_config,
)
from dvae.runs.predictor import read_predictor, write_predictor
from dvae.runs.retraining import retrained_folder, trainer
from dvae.studies import Retraining, Study, search, studies_of
from dvae.studies.identity import model_fingerprint
from dvae.studies.storage import storage_of
from dvae.tasks import Task, from_spec, get, load_dataset, to_spec
from dvae.tasks.generic import FILE_PREFIX
from dvae.training import FitResult, checkpoint
from dvae.training import fit as train
from dvae.training.lock import FILE as LOCK
from dvae.training.lock import locked
from dvae.training.loop import METRICS, TRAINING
from dvae.training.tracking import FILE as TRACKERS
from dvae.training.vae_job import batch_fingerprint
from dvae.training.validation import BEST, load_best

log = logging.getLogger("dvae")

AUTO = "auto"
CHECKPOINT = checkpoint.FILE
EVALUATION, PREDICTIVITY, DATA = "evaluation.json", "predictivity.json", "data.jsonl.gz"
GENERATION = "generation.json"
TRAINED = (FILE, CHECKPOINT, storage.WEIGHTS, storage.SETTINGS, storage.TASK, METRICS, TRAINING, BEST, DATA, TRACKERS)


class Run:
    """A folder of a trained, or half trained, model; `Run.create` starts one, `Run.open` finds one again.

    Whatever is measured is kept in the folder and comes back as a value.
    """

    def __init__(self, folder: Path, config: RunConfig, task: Task, *, new: bool = False) -> None:
        self.folder, self.config, self.task = folder, config, task
        self.chosen: AutoSettings | None = None  # by the preset `auto`, where it was taken
        self._new = new  # made by this object, and not yet trained

    @classmethod
    def create(
        cls,
        folder: str | Path,
        task: str | Task | None = None,
        *,
        data: str | Path | Dataset | DagSet | Sequence[Dag] | None = None,
        config: RunConfig | None = None,
        start: str | Path | None = None,
        preset: str | None = None,
        minutes: float | None = None,
        device: str = "auto",
        adopt: bool = False,
        **settings: Any,
    ) -> Run:
        """A new run in `folder`, which must not hold one.

        `data` takes the place of the task's own data: a file, or DAGs, which are kept in the folder. Without a task,
        the DAGs are their own. `settings` are those of the run, its model and its training, by their names
        (`size=1000, hidden=128, epochs=20`). `start` is a run whose weights are the start. `preset` is `auto` (settings
        that follow from the data, the `device` and the `minutes` there are; the default for your own DAGs), `paper` or
        `original`. With `adopt`, the folder may hold the files of a training already.
        """
        folder = Path(folder)
        if not adopt and not is_helper_process():
            check_free(folder)
        automatic = preset == AUTO or (preset is None and config is None and start is None)
        if preset not in (None, AUTO):
            settings = {f"model.{key}": value for key, value in preset_settings(preset).items()} | settings
        if minutes is not None:
            settings = {"time_budget": 60 * minutes} | settings
        if start is not None:
            config = _started_from(Path(start), settings)
        config = changed_config(config or RunConfig(), settings)
        held = _held_data(data)
        if held is None and data is not None:
            config = replace(config, data=str(Path(str(data)).absolute()))
        task = _task(config, task, held, start)
        if held is not None:
            config = _with_source(config, held, folder)
        config = replace(config, task=task.full_name)
        run = cls(folder, config, task, new=True)
        if held is not None:
            run.use_data(held)
        if config.fingerprint is None and run._uses_file():
            run.config = replace(config, fingerprint=run.dataset.fingerprint)
        if automatic and (preset == AUTO or task.preset == AUTO):
            run._choose(settings, minutes, device)
        run._write(held if run.config.data == DATA else None, adopt)
        return run

    @classmethod
    def open(cls, folder: str | Path, *, data: str | Path | None = None) -> Run:
        """The run in `folder`; `data` says where its data are now, if they have moved."""
        folder = Path(folder)
        config = _config(folder)
        spec = read_json(folder / storage.TASK) if (folder / storage.TASK).is_file() else None
        if spec is not None and not isinstance(spec, dict):
            raise CheckpointError(f"{folder / storage.TASK} does not describe a task")
        try:
            task = get(config.task) if spec is None else from_spec(spec)
        except CheckpointError as error:
            raise CheckpointError(f"{folder / storage.TASK}: {error}") from None
        run = cls(folder, config, task)
        if data is not None:
            run._move_data(Path(data))
        return run

    @cached_property
    def dataset(self) -> Dataset:
        """The data set of the run; what has changed since training is refused."""
        return self._loaded(self.config)

    def use_data(self, data: Dataset) -> None:
        """Takes a data set that is at hand, so that it is not read again."""
        self.__dict__["dataset"] = data  # where `cached_property` looks

    def model(self, device: str = "auto", *, best: bool = False) -> VAE:
        """The trained model; with `best`, as it was when it did best on the validation DAGs."""
        try:
            if (self.folder / CHECKPOINT).is_file() and not (self.folder / storage.WEIGHTS).is_file():
                vae = self._interrupted_model(device)
            else:
                vae = load(self.folder, device=available_device(device))
            return load_best(vae, self.folder) if best else vae
        except CheckpointError as error:
            if str(self.folder) in str(error):
                raise
            raise CheckpointError(f"{self.folder}: {error}") from None

    def _interrupted_model(self, device: str) -> VAE:
        """The model of a training that was killed, as its last checkpoint has it."""
        vae = self.new_model()
        checkpoint.load_weights(self.folder / CHECKPOINT, "vae", vae)
        return vae.to(available_device(device))

    def new_model(self) -> VAE:
        """The model as training begins with it."""
        config = self.config
        vae = build(config.model.name, self.task, config=config.model, seed=config.training.seed)
        if config.started_from is not None:
            start = load(config.started_from)
            storage.load_distinct_state(vae, storage.distinct_state(start), config.started_from)
        return vae

    def fit(
        self,
        *,
        resume: bool = False,
        device: str = "auto",
        devices: int = 1,
        progress: bool | None = None,
        vae: VAE | None = None,
        **settings: Any,
    ) -> FitResult:
        """Trains the run's model; with `resume`, goes on where training stopped.

        `settings` change how long is trained (`epochs`, `time_budget`, ...). `vae` is trained in place of a new model.
        """
        with contextlib.nullcontext() if is_helper_process() else locked(self.folder):
            return self._fit(vae, changed_config(self.config, settings), resume, device, devices, progress)

    def _fit(
        self, vae: VAE | None, config: RunConfig, resume: bool, device: str, devices: int, progress: bool | None
    ) -> FitResult:
        check_resumable(self.folder, self.config, config)
        self.config = config
        if not is_helper_process():
            write_config(self.folder, config)
        try:
            return train(
                self.new_model() if vae is None else vae,
                self.dataset.train,
                validation=self.dataset.validation if len(self.dataset.validation) else None,
                config=config.training,
                run=self.folder,
                resume=resume,
                device=device,
                devices=devices,
                progress=progress,
            )
        except DvaeError:
            if self._new and not (self.folder / CHECKPOINT).exists() and not is_helper_process():
                self.clear()
            raise

    def evaluate(self, *, device: str = "auto", best: bool = False, **options: Any) -> Evaluation:
        """Measures reconstruction and prior samples (`dvae.evaluation.evaluate`)."""
        measured = measure(self.model(device, best=best), self.dataset, **options)
        write_json(self.folder / EVALUATION, measured.to_mapping())
        return measured

    def generation(
        self, name: str, *, device: str = "auto", best: bool = False, best_of: int = 1, seed: int = 0,
        progress: bool | None = None, **options: Any,
    ) -> Generation:  # fmt: skip
        """Judges DAGs generated for values of a property (`dvae.evaluation.judge_generation`).

        What was measured for other properties stays in the file.
        """
        path = self.folder / GENERATION
        before = read_json(path) if path.is_file() else {}
        if not isinstance(before, dict):
            raise FormatError(f"{path} does not hold measurements by the names of properties: move it away")
        vae = self.model(device, best=best)
        check_conditions(vae, [name])
        chooser = self.chooser([name], device=device, progress=progress) if best_of > 1 else None
        measured = judge_generation(
            vae, self.dataset, name, best_of=best_of, chooser=chooser, seed=seed, progress=progress, **options
        )
        write_json(path, {**before, name: measured.to_mapping()})
        return measured

    def predictivity(self, *, device: str = "auto", **options: Any) -> Predictivity:
        """Measures how well latents predict scores (`dvae.evaluation.predictivity`)."""
        measured = measure_predictivity(self.model(device), self.dataset, **options)
        write_json(self.folder / PREDICTIVITY, measured.to_mapping())
        return measured

    def predictor(
        self, names: Sequence[str] | None = None, *, vae: VAE | None = None, device: str = "auto", refit: bool = False,
        seed: int = 0, progress: bool | None = None,
    ) -> Predictor:  # fmt: skip
        """Regressors of the properties `names` (None: all that can be predicted), kept in the folder.

        They are fitted when they are first asked for, to the training and validation parts of the run's data, and again
        where the model has been trained since.
        """
        vae = self.model(device) if vae is None else vae
        fitted_to = {"model": model_fingerprint(vae), "data": self.dataset.fingerprint, "seed": seed}
        there = None if refit else read_predictor(self.folder, fitted_to)
        wanted = names if names is not None else predictable(self.dataset.train)
        missing = [name for name in wanted if there is None or name not in there.models]
        if missing or there is None:
            fitted = fit_predictor(vae, self.dataset, missing, seed=seed, progress=progress)
            there = Predictor(fitted.features, {**(there.models if there is not None else {}), **fitted.models})
            write_predictor(self.folder, there, fitted_to)
        return Predictor(there.features, {name: there.models[name] for name in wanted})

    def predict(
        self, dags: Sequence[Dag], names: Sequence[str] | None = None, *, level: float = LEVEL, device: str = "auto",
        progress: bool | None = None,
    ) -> list[dict[str, Prediction]]:  # fmt: skip
        """The properties of DAGs, each with an interval that holds the truth with probability `level`."""
        vae = self.model(device)
        return self.predictor(names, vae=vae, progress=progress).predict(vae, dags, level=level)

    def encode(self, dags: Sequence[Dag], *, device: str = "auto") -> Posterior:
        """Where DAGs lie in the latent space."""
        return self.model(device).encode(dags)

    def decode(self, latents: Any, *, device: str = "auto", **options: Any) -> list[Dag]:
        """The DAGs that latents stand for (`VAE.decode`)."""
        return self.model(device).decode(latents, **options)

    def sample(
        self, count: int, *, given: Mapping[str, float] | None = None, best_of: int = 1, greedy: bool = False,
        valid: bool = False, seed: int | None = None, device: str = "auto", progress: bool | None = None,
    ) -> list[Dag]:  # fmt: skip
        """New DAGs (`VAE.sample`); with `best_of`, each is the nearest to what is `given` among so many.

        What they have is predicted by regressors (`chooser`).
        """
        vae = self.model(device)
        how: dict[str, Any] = {"greedy": greedy, "valid": valid, "seed": seed}
        if best_of == 1:
            return vae.sample(count, given=given, **how)
        if not given:
            raise ConfigError("the best of several DAGs is the one nearest to a condition: say which (given)")
        check_conditions(vae, given)
        chooser = self.chooser(list(given), device=device, progress=progress)
        return vae.task.unbatch(chooser.best(best_of, vae, [None] * count, given, progress=progress, **how))

    def chooser(self, names: Sequence[str], *, device: str = "auto", progress: bool | None = None) -> Chooser:
        """Regressors of the properties `names` that choose among DAGs, fitted on first use and kept in the folder."""
        at = available_device(device)
        return fitted_chooser(self.folder, self.task, lambda: self.dataset, names, device=at, progress=progress)

    def search(
        self,
        *,
        device: str = "auto",
        storage: str | None = None,
        name: str = "search",
        retrain: int | None = None,
        retrain_weight: float = 1e-3,
        retrain_epochs: int = 1,
        **options: Any,
    ) -> Study:
        """Searches the run's space for better DAGs (`dvae.search`); the study is kept in the folder.

        With `retrain`, the model is trained on after every so many evaluations (`retraining`).
        """
        about = {"run": str(self.folder.absolute()), **options.pop("about", {})}
        plan = None
        if retrain is not None:
            plan = self.retraining(name, retrain, weight=retrain_weight, epochs=retrain_epochs, device=device)
        return search(
            self.model(device), storage=storage or self.storage, name=name, about=about, retrain=plan, **options
        )  # fmt: skip

    def retraining(
        self, study: str, every: int, *, weight: float = 1e-3, epochs: int = 1, device: str = "auto"
    ) -> Retraining:  # fmt: skip
        """How a search of this run trains the model on, every `every` evaluations; the run's own model stays as it is.

        It is trained on the run's training DAGs and all that the search knows, better ones weighted more (the less
        `weight`, the more), with the run's training settings; the weights are kept in the folder `retrained`.
        """
        return Retraining(
            every,
            trainer(self.config.training, device),
            self.dataset.train.dags,
            weight=weight,
            epochs=epochs,
            folder=retrained_folder(self.folder, study),
        )

    @property
    def storage(self) -> str:
        """The address of the run's own studies."""
        return storage_of(self.folder)

    def studies(self) -> list[Study]:
        """The run's own studies, by name."""
        return studies_of(self.folder)

    def report(self) -> Path:
        """Writes all that is known of the run on one page, with a map of its data where they are still there."""
        try:
            known = self.dataset.everything
        except DvaeError:  # moved or changed since: the page does without the map
            known = None
        return write_report(self.folder, known)

    def clear(self) -> None:
        """Removes what training wrote, and nothing else, so that the run can start over."""
        for name in TRAINED:
            (self.folder / name).unlink(missing_ok=True)
        if self.folder.is_dir() and {path.name for path in self.folder.iterdir()} <= {LOCK}:
            (self.folder / LOCK).unlink(missing_ok=True)
            self.folder.rmdir()

    def _choose(self, settings: Mapping[str, Any], minutes: float | None, device: str) -> None:
        """Takes the settings of the preset `auto`, but for those that were given."""
        chosen = auto_settings(self.task, self.dataset, run_settings(settings), minutes=minutes, device=device)
        log.info(chosen.words())
        self.chosen = chosen
        self.config = changed_config(self.config, dict(chosen.settings))

    def _write(self, data: Dataset | None, adopt: bool) -> None:
        if is_helper_process():
            return
        with locked(self.folder):
            if not adopt:
                check_free(self.folder)
            if data is not None:
                write_jsonl(self.folder / DATA, data.items())
            write_config(self.folder, self.config)
            write_json(self.folder / storage.TASK, to_spec(self.task))

    def _loaded(self, config: RunConfig) -> Dataset:
        data = load_dataset(self.task, config.source(self.folder))
        if config.fingerprint is not None and data.fingerprint != config.fingerprint:
            raise self._other_data(data)
        return data

    def _move_data(self, path: Path) -> None:
        if not self._uses_file():
            raise ConfigError(f"{self.folder} was not trained on a file: its data are those of {self.task.name}")
        config = replace(self.config, data=str(path.absolute()))
        data = self._loaded(config)
        if config.fingerprint is None:
            self._check_trained_on(data)
        self.use_data(data)
        self.config = replace(config, fingerprint=data.fingerprint)
        with locked(self.folder):
            write_config(self.folder, self.config)

    def _uses_file(self) -> bool:
        return self.config.data is not None or self.task.name.startswith(FILE_PREFIX)

    def _check_trained_on(self, data: Dataset) -> None:
        """What version 0.1.0 left to know the data by: the checkpoint's fingerprint of the training DAGs."""
        if not (self.folder / CHECKPOINT).is_file():
            return
        _, header = checkpoint.read(self.folder / CHECKPOINT)
        batch = self.new_model().prepare(self.task.batch(data.train.dags))
        if header["settings"].get("data") != batch_fingerprint(batch):
            raise self._other_data(data)

    def _other_data(self, data: Dataset) -> ConfigError:
        return ConfigError(
            f"{data.name} is not what {self.folder} was trained on: name the right file with --data, or start a run on "
            f"the new DAGs from the old weights: dvae train --data FILE --run NEW --from {self.folder}"
        )


def _config(folder: Path) -> RunConfig:
    """The settings of the run or, where a model was saved without them, those that can be told."""
    if (folder / FILE).is_file() or not (folder / storage.SETTINGS).is_file():
        return read_config(folder)
    model, task = storage.read_settings(folder)
    return RunConfig(task.full_name, model=model)


def check_free(folder: Path, advice: str = "choose another folder") -> None:
    """A run is never overwritten."""
    if any((folder / name).exists() for name in (FILE, CHECKPOINT, storage.WEIGHTS)):
        raise ConfigError(f"{folder} already holds a run: {advice}")


def is_helper_process() -> bool:
    """Whether this is one of the processes that training on several devices started with the same command."""
    return os.environ.get("LOCAL_RANK", "0") != "0"


def _held_data(data: object) -> Dataset | None:
    """DAGs that were given themselves, as a data set."""
    if data is None or isinstance(data, str | Path):
        return None
    if isinstance(data, Dataset):
        return data
    if isinstance(data, DagSet):
        return data.origin if data.origin is not None and data is data.origin.train else Dataset.of("given DAGs", data)
    return Dataset.of("given DAGs", list(data))  # type: ignore[call-overload]


def _task(config: RunConfig, task: str | Task | None, held: Dataset | None, start: str | Path | None) -> Task:
    """The task that is named; where weights are taken from a run of the same task, that run's, which they fit."""
    if start is not None:
        known = Run.open(start).task
        if task is None or (isinstance(task, str) and get(task).full_name == known.full_name):
            return known
    if task is not None or config.task:
        return get(task or config.task)
    if held is not None:
        from dvae.tasks import GenericTask

        return GenericTask.infer("given DAGs", held.everything.dags)
    if config.data is not None:
        return get(f"file:{config.data}")
    raise ConfigError("there is nothing to train on: give --task or --data, or a --config that names one")


def _with_source(config: RunConfig, held: Dataset, folder: Path) -> RunConfig:
    """The settings from which the DAGs that were given can be had again."""
    source = held.source
    if source is None:
        return replace(config, data=DATA, fingerprint=held.fingerprint)
    file = None if source.file is None else str(Path(source.file).absolute())
    return replace(config, data=file, size=source.size, data_seed=source.seed, validation=source.validation)


def _started_from(start: Path, settings: Mapping[str, object]) -> RunConfig:
    """Settings of a run that starts from the weights of another: the other's, but for its data."""
    before = read_config(start)
    for key, value in run_settings(settings).items():
        if key.startswith("model.") and value != getattr(before.model, key.removeprefix("model."), value):
            raise ConfigError(f"{key} cannot change: the run starts from the weights of {start}")
    return RunConfig(started_from=str(start.absolute()), model=before.model, training=before.training)
