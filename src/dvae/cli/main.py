"""The program `dvae`: its commands, and what becomes of an error."""

from __future__ import annotations

import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dvae import __version__, logs
from dvae.cli import (
    bn,
    compare,
    data,
    decode,
    demo,
    diff,
    draw,
    encode,
    evaluate,
    explore,
    import_,
    import_checkpoint,
    models,
    nas,
    output,
    predict,
    predictivity,
    report,
    reproduce,
    runs,
    sample,
    score,
    search,
    settings,
    train,
    worker,
)
from dvae.devices import lacks_memory
from dvae.errors import DivergedError, DvaeError
from dvae.passwords import hide_arguments
from dvae.processes import as_ctrl_c

FAILED = 1
BAD_INPUT = 2
NO_MEMORY = (
    "there is not enough memory; end what else uses it (a GPU's can be left alone with --device cpu), "
    "or take fewer or smaller graphs"
)
INTERRUPTED = 130  # 128 + the number of SIGINT, as shells have it


class Program(TyperGroup):
    """Turns what a user can mend into one sentence on standard error; any other error is ours, and shows."""

    def invoke(self, ctx: Any) -> Any:
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()  # a full disk is said below, not when the interpreter ends
            return answer
        except DvaeError as error:
            raise _ended(str(error), FAILED if isinstance(error, DivergedError) else BAD_INPUT) from None
        except BrokenPipeError:
            raise  # the reader of our output has seen enough; Click ends quietly
        except OSError as error:
            if error.strerror is None:
                raise
            raise _ended(f"{error.filename or 'the output'}: {error.strerror}") from None
        except (MemoryError, RuntimeError) as error:
            if not lacks_memory(error):
                raise
            raise _ended(NO_MEMORY) from None
        except KeyboardInterrupt:
            raise _ended("interrupted", INTERRUPTED) from None


def _ended(sentence: str, code: int = BAD_INPUT) -> typer.Exit:
    print("Error:", output.printable(" ".join(sentence.splitlines())), file=sys.stderr)
    return typer.Exit(code)


app = typer.Typer(
    name="dvae",
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A continuous space of DAGs: generate, compare, predict and optimise them. "
    "New here? Try: [bold]dvae demo[/bold]",
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"dvae {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    verbose: Annotated[
        int,
        typer.Option("-v", "--verbose", count=True, help="Log what happens; twice for more (or DVAE_LOG=info, debug)."),
    ] = 0,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    logs.configure(verbose or None)


START, WORK, LOOK = "Start here", "Train and use a model", "Look around"
app.command("demo", rich_help_panel=START)(demo.demo)
app.command("train", rich_help_panel=WORK)(train.train)
app.command("evaluate", rich_help_panel=WORK)(evaluate.evaluate)
app.command("predict", rich_help_panel=WORK)(predict.predict)
app.command("predictivity", rich_help_panel=WORK)(predictivity.predictivity)
app.command("search", rich_help_panel=WORK)(search.search)
app.command("worker", rich_help_panel=WORK)(worker.worker)
app.command("sample", rich_help_panel=WORK)(sample.sample)
app.command("encode", rich_help_panel=WORK)(encode.encode)
app.command("decode", rich_help_panel=WORK)(decode.decode)
app.command("import", rich_help_panel=WORK)(import_.import_)
app.command("import-checkpoint", rich_help_panel=WORK)(import_checkpoint.import_checkpoint)
app.command("explore", rich_help_panel=LOOK)(explore.explore)
app.command("reproduce", rich_help_panel=WORK)(reproduce.reproduce)
app.command("report", rich_help_panel=LOOK)(report.report)
app.command("runs", rich_help_panel=LOOK)(runs.runs)
app.command("compare", rich_help_panel=LOOK)(compare.compare)
app.add_typer(nas.app, rich_help_panel=WORK)
app.add_typer(bn.app, rich_help_panel=WORK)
app.command("data", rich_help_panel=LOOK)(data.data)
app.command("score", rich_help_panel=LOOK)(score.score)
app.command("draw", rich_help_panel=LOOK)(draw.draw)
app.command("diff", rich_help_panel=LOOK)(diff.diff)
app.command("models", rich_help_panel=LOOK)(models.models)
app.command("settings", rich_help_panel=LOOK)(settings.settings)


def main() -> None:
    """The console script."""
    hide_arguments()
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, as_ctrl_c)
    try:
        app(prog_name=output.PROGRAM)
    except KeyboardInterrupt:  # before a command began
        sys.exit(INTERRUPTED)
