"""Small faults in the Python layer, one at a time: how many of them the tests notice.

    python benchmarks/mutants.py --sample 150 --seed 1 --json mutants.json
    python benchmarks/mutants.py --only 'networks/*'
    python benchmarks/mutants.py --again mutants.json

A mutant is the package with one fault: a comparison, an operator or min and max swapped, a whole number one larger, a
condition negated, a `not` gone, a statement dropped, a default changed. For each mutant the tests of the changed module
(`TESTS`) run in a copy of the package. The mutant is killed if a test fails, and survives if none does; a timeout is a
mutant that ran for several times as long as the package without a fault. Tests of other modules might still notice a
survivor.

Left out, because no result follows from it: messages and what raises or warns with them, docstrings, annotations,
decorators, `__repr__`, the -1 of `reshape`, `__all__`, checks of types that guard an error, `stacklevel`, strings,
and bounds of options written as powers of two. `mutants-explained.json` names survivors that are the same program,
with the reason; the report counts them as equivalent. Exit code 1 if a mutant survives that is not explained.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy  # noqa: F401 - with the other packages here: imported once, not by every fork
import pandas  # noqa: F401
import pytest
import scipy.optimize
import scipy.sparse  # noqa: F401
import sklearn.linear_model
import sklearn.utils.estimator_checks  # noqa: F401

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "loglinear"
EXPLAINED = Path(__file__).with_name("mutants-explained.json")
MODULES = (
    "solvers/**/*.py",
    "penalty.py",
    "minimize.py",
    "certificate.py",
    "stopping.py",
    "path.py",
    "metrics.py",
    "gap.py",
    "models/**/*.py",
    "networks/*.py",
    "objectives/*.py",
    "calibration.py",
    "report/*.py",
    "compat/**/*.py",
    "dask/*.py",
    "cli/**/*.py",
)
# Tests of the modules that a pattern names, below tests/; the first pattern that fits counts.
TESTS = {
    "solvers/__init__.py": "solvers/test_solvers.py solvers/common/test_inner.py cli/commands/test_solvers.py",
    "solvers/adagrad.py": "solvers/test_passes.py solvers/test_sg.py",
    "solvers/sg.py": "solvers/test_passes.py solvers/test_sg.py",
    "solvers/hybrid.py": "solvers/test_hybrid.py solvers/test_sg.py",
    "solvers/two_stage.py": "solvers/test_sgd_l1.py solvers/common/test_inner.py solvers/common/test_curvature.py "
    "test_gain.py",
    "solvers/parameter_mixing.py": "objectives/test_parts.py test_violation.py",
    "solvers/bfgs.py": "solvers/test_bfgs.py solvers/common/test_curvature.py",
    "solvers/lbfgs.py": "solvers/test_lbfgs.py solvers/test_solvers.py",
    "solvers/owlqn.py": "solvers/test_owlqn.py solvers/test_solvers.py",
    "solvers/prox_gradient.py": "solvers/test_prox_gradient.py solvers/test_tolerance.py test_violation.py",
    "solvers/common/curvature.py": "solvers/common/test_curvature.py solvers/common/test_history.py "
    "objectives/test_hessian_diagonal.py",
    "solvers/common/history.py": "solvers/common/test_history.py solvers/test_lbfgs.py solvers/test_owlqn.py",
    "solvers/common/quasi_newton.py": "solvers/test_tolerance.py solvers/test_lbfgs.py solvers/test_owlqn.py "
    "solvers/common/test_curvature.py",
    "solvers/common/wolfe.py": "solvers/common/test_wolfe.py solvers/test_lbfgs.py solvers/test_bfgs.py",
    "solvers/common/inner.py": "solvers/common/test_inner.py",
    "solvers/common/listing.py": "cli/commands/test_solvers.py solvers/test_solvers.py test_docstrings.py",
    "solvers/common/memory.py": "solvers/common/test_memory.py solvers/test_bfgs.py",
    **dict.fromkeys(
        (f"solvers/common/{name}.py" for name in ("classifier", "conditions", "needs", "solver")),
        "solvers/common/test_needs.py",
    ),
    "solvers/common/per_sample.py": "solvers/test_passes.py solvers/test_sg.py objectives/test_parts.py",
    "solvers/common/projection.py": "solvers/common/test_projection.py solvers/test_clustered.py",
    "solvers/common/pruning.py": "objectives/test_pruned.py solvers/test_label_sets.py",
    "solvers/common/tuning.py": "solvers/test_sgd_l1.py solvers/test_sg.py",
    "solvers/common/working_set.py": "solvers/test_grafting.py solvers/test_prox_newton.py solvers/test_label_sets.py",
    "solvers/prox_newton.py": "solvers/test_tolerance.py solvers/test_prox_newton.py",
    "solvers/label_sets.py": "solvers/test_tolerance.py solvers/test_label_sets.py",
    "solvers/sgd_l1.py": "solvers/test_passes.py solvers/test_sgd_l1.py",
    "solvers/sag.py": "solvers/test_passes.py solvers/test_sag.py",
    "solvers/grafting.py": "solvers/test_grafting.py solvers/test_tolerance.py",
    "solvers/*.py": "solvers/test_{stem}.py",
    "penalty.py": "test_penalty.py test_violation.py solvers/test_prox_gradient.py",
    "minimize.py": "test_minimize.py test_violation.py test_gap.py",
    "certificate.py": "test_minimize.py test_violation.py test_gap.py models/training/test_run.py",
    "stopping.py": "test_minimize.py test_violation.py test_gap.py",
    "path.py": "test_path.py models/test_network.py",
    "metrics.py": "test_metrics.py",
    "gap.py": "test_gap.py",
    "models/explain/edges.py": "cli/test_networks.py cli/commands/test_structure.py report/test_network_page.py",
    "models/explain/answers.py": "models/test_summary.py report cli/commands/test_evaluate.py",
    "models/chain.py": "models/test_chain.py models/test_n_best.py models/test_second_order.py report/test_page.py",
    "models/files/chain.py": "models/test_chain.py models/test_foreign.py models/files/test_hostile_files.py",
    "models/chain_single.py": "models/test_single.py models/test_chain.py",
    "models/training/chain.py": "objectives/test_parts.py dask/test_chain.py "
    "models/training/test_run.py models/test_chain.py cli/commands/test_select.py",
    "models/chain_weights.py": "models/test_chain_weights.py models/test_second_order.py models/test_foreign.py",
    "models/*/checkpoint.py": "models/training/test_checkpoint.py cli/commands/test_train_checkpoint.py",
    "models/estimator.py": "models/test_estimator.py models/test_scikit_learn_habits.py models/training/test_run.py",
    "models/explain/expla*.py": "models/explain/test_explained.py models/explain/test_explanation.py "
    "cli/commands/test_explain.py",
    "data/fingerprint.py": "data/test_fingerprint.py models/training/test_checkpoint.py",
    "models/training/interrupts.py": "models/training/test_checkpoint.py cli/commands/test_train_checkpoint.py",
    "models/*graph.py": "models/test_graph.py report/test_network_page.py",
    "models/*maxent.py": "models/test_maxent.py models/test_label_types.py models/files/test_hostile_files.py report",
    "models/explain/network_report.py": "report/test_network_page.py",
    "models/*network.py": "models/training/test_resampling.py models/test_network.py cli/test_networks.py "
    "models/files/test_hostile_files.py",
    "models/training/nodewise.py": "models/training/test_nodewise.py",
    "models/training/options.py": "models/test_estimator.py models/training/test_run.py cli/test_bad_input.py",
    "models/explain/reports.py": "report",
    "models/training/resampling.py": "models/training/test_resampling.py",
    "models/files/schema.py": "models/files/test_hostile_files.py cli/test_attacks.py",
    "models/training/selection.py": "models/training/test_selection.py cli/commands/test_select.py",
    "models/files/settings.py": "models/test_chain.py models/test_maxent.py models/test_label_types.py "
    "cli/test_networks.py",
    "models/training/structure.py": "models/training/test_resampling.py models/training/test_structure.py "
    "models/test_network.py cli/commands/test_structure.py",
    "models/*tagg*.py": "models/test_tagger.py models/files/test_tagging.py cli/commands/test_tag.py",
    "models/text_classifier.py": "models/test_text_classifier.py cli/commands/test_explain.py",
    "models/training/terms.py": "models/training/test_checkpoint.py models/training/test_start.py",
    "models/training/run.py": "models/training/test_run.py models/training/test_start.py "
    "models/training/test_checkpoint.py",
    "models/translations.py": "models/test_scikit_learn_habits.py cli/test_main.py",
    "models/*.py": "models/test_{stem}.py",
    "networks/binning.py": "networks/test_binning.py models/test_network.py",
    "networks/categories.py": "networks/test_binning.py models/test_network.py cli/test_networks.py",
    "networks/exact.py": "objectives/test_network.py models/test_graph.py models/test_network.py",
    "networks/gibbs.py": "networks/test_gibbs.py objectives/test_network.py",
    "networks/inference.py": "models/test_network.py objectives/test_network.py",
    "networks/log_partition.py": "networks/test_log_partition.py models/test_network.py",
    "networks/loopy_bp.py": "networks/test_loopy_bp.py objectives/test_network.py",
    "networks/appearances.py": "networks/test_appearances.py",
    "networks/graph.py": "networks/test_loopy_bp.py networks/test_gibbs.py objectives/test_network.py "
    "models/test_network.py",
    "networks/linear_response.py": "networks/test_linear_response.py objectives/test_network.py",
    "networks/tree_reweighted.py": "networks/test_tree_reweighted.py",
    "networks/*.py": "objectives/test_network.py models/test_network.py objectives/test_pseudolikelihood.py",
    "objectives/class_weights.py": "objectives/test_costs.py models/test_chain_costs.py models/test_maxent.py "
    "models/test_graph.py dask/test_maxent.py",
    "objectives/older.py": "models/training/test_prior.py models/training/test_prior_with_costs.py "
    "models/training/test_start.py",
    "objectives/prior.py": "objectives/test_prior.py models/training/test_prior.py "
    "models/training/test_prior_with_costs.py models/training/test_classifier_prior.py",
    "objectives/part*.py": "objectives/test_parts.py objectives/test_costs.py objectives/test_soft_labels.py "
    "objectives/test_invalid_labels.py dask/test_chain.py test_violation.py",
    "objectives/groups.py": "objectives/test_parts.py objectives/test_columns_far_from_zero.py dask/test_chain.py",
    "objectives/matrix_parts.py": "objectives/test_columns_far_from_zero.py data/test_frames.py dask/test_maxent.py "
    "objectives/test_dense.py",
    "objectives/balance.py": "objectives/test_balance.py test_gap.py test_centring.py",
    "objectives/classifier.py": "objectives/test_dense.py objectives/test_balance.py "
    "objectives/test_columns_far_from_zero.py objectives/test_empty_columns.py objectives/test_hessian_diagonal.py "
    "models/test_maxent.py test_gap.py test_centring.py",
    "objectives/chain.py": "objectives/test_chain.py objectives/test_parts.py objectives/test_costs.py "
    "objectives/test_soft_labels.py objectives/test_hessian_diagonal.py objectives/test_pruned.py models/test_chain.py",
    "objectives/graph.py": "models/test_graph.py models/training/test_graph_prior.py test_gap.py "
    "objectives/test_hessian_diagonal.py",
    "objectives/network.py": "objectives/test_network.py networks/test_tree_reweighted.py",
    "objectives/pseudolikelihood.py": "objectives/test_pseudolikelihood.py models/training/test_nodewise.py "
    "test_gap.py",
    "objectives/*.py": "objectives/test_{stem}.py objectives/test_chain.py test_constraints.py",
    "calibration.py": "test_calibration.py report models/test_temperature.py cli/commands/test_tag_withheld.py",
    "report/audit_page.py": "cli/commands/test_audit.py models/test_audit.py",
    "report/*graph.py": "report/test_graph.py report/test_network_page.py report/test_interactive.py",
    "report/*.py": "report cli/commands/test_report.py cli/commands/test_evaluate.py",
    "compat/pycrfsuite/_online.py": "compat/test_online.py",
    "compat/_install.py": "compat/test_install.py",
    "compat/sklearn_crfsuite/*.py": "compat/test_sklearn_crfsuite.py compat/test_install.py",
    "compat/*.py": "compat/test_trainer.py compat/test_tagger.py compat/test_items.py compat/test_online.py "
    "compat/test_logparser.py compat/test_sklearn_crfsuite.py",
    "dask/maxent.py": "dask/test_maxent.py dask/test_failed_fits.py",
    "dask/*.py": "dask",
    "cli/audit_table.py": "cli/commands/test_audit.py models/test_audit.py",
    "cli/bar.py": "cli/test_progress.py",
    "cli/distributed.py": "dask/test_command.py cli/test_bad_input.py",
    "cli/ending.py": "cli/test_ending.py cli/commands/test_train.py",
    "cli/inputs.py": "cli/test_inputs.py cli/test_bad_input.py cli/test_main.py",
    "cli/layout.py": "cli/test_layout.py cli/test_column_files.py cli/commands/test_tag_layouts.py cli/test_inputs.py "
    "cli/test_other_cells.py cli/test_columns_of_another_kind.py cli/commands/test_weight_column.py",
    "cli/output.py": "cli/test_main.py cli/test_compressed.py cli/commands/test_tag.py cli/commands/test_evaluate.py",
    "cli/progress.py": "cli/test_progress.py cli/test_ending.py cli/test_sense.py cli/commands/test_train.py",
    "cli/reading.py": "cli/test_sense.py cli/test_inputs.py cli/test_bad_input.py cli/test_layout.py "
    "cli/commands/test_train.py cli/test_column_files.py",
    "cli/watch.py": "dask/test_watch.py dask/test_command.py",
    "cli/withheld.py": "cli/commands/test_tag_withheld.py",
    "cli/wrapping.py": "cli/test_wrapping.py cli/test_main.py",
    "cli/kinds/graphs.py": "cli/test_kinds.py cli/test_networks.py",
    "cli/kinds/inspected.py": "cli/commands/test_inspect.py cli/test_ending.py cli/test_kinds.py",
    "cli/kinds/ranked.py": "cli/commands/test_rank.py models/test_rank.py cli/test_kinds.py",
    "cli/kinds/scored.py": "cli/commands/test_evaluate.py cli/commands/test_report.py cli/test_kinds.py",
    "cli/kinds/sentences.py": "cli/commands/test_tag.py cli/commands/test_tag_layouts.py "
    "cli/commands/test_tag_stream.py cli/commands/test_evaluate.py cli/commands/test_train.py cli/test_kinds.py "
    "cli/commands/test_calibrate.py "
    "cli/commands/test_explain.py",
    "cli/kinds/tables.py": "cli/test_networks.py cli/test_kinds.py cli/commands/test_structure.py",
    "cli/kinds/texts.py": "cli/commands/test_classify.py cli/test_kinds.py",
    "cli/kinds/*.py": "cli/test_kinds.py",
    "cli/commands/presets.py": "cli/commands/test_presets.py",
    "cli/commands/structure.py": "cli/commands/test_structure.py cli/test_networks.py models/test_estimator.py",
    "cli/commands/tag.py": "cli/commands/test_tag.py cli/commands/test_tag_layouts.py cli/commands/test_tag_stream.py "
    "cli/commands/test_tag_withheld.py",
    "cli/commands/train.py": "cli/commands/test_train.py cli/commands/test_train_checkpoint.py "
    "cli/commands/test_train_prior.py cli/commands/test_costs.py cli/commands/test_classify.py "
    "cli/commands/test_label_messages.py models/test_estimator.py",
    "cli/commands/*.py": "cli/commands/test_{stem}.py cli/test_kinds.py",
    "cli/*.py": "cli/test_main.py cli/test_{stem}.py cli/test_bad_input.py cli/commands/test_completion.py",
}
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
OPPOSITES = {"min": "max", "minimum": "maximum", "argmin": "argmax"}
OPPOSITES |= {other: one for one, other in OPPOSITES.items()}
MEMORY = 16 * 2**30  # bytes of addresses that a run may use
LEAST_SECONDS, TIMES = 60.0, 3.0
NO_TESTS = 77  # exit code of a run that is none


@dataclass(frozen=True)
class Mutant:
    """A package with one fault.

    Attributes:
        module: the file, below `src/loglinear`.
        line: number of the line of the fault, from 1.
        kind: what is done to the source.
        before: the lines of the fault, stripped.
        after: the same lines with the fault.
        source: the file with the fault.
    """

    module: str
    line: int
    kind: str
    before: str
    after: str
    source: str


def mutants(module: str) -> Iterator[Mutant]:
    """Yield the mutants of a file."""
    source = (PACKAGE / module).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, kind, text in faults(ast.parse(source), ()):
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        changed = source[:begin] + text.encode() + source[end:]
        first, last = starts[node.lineno - 1], starts[node.end_lineno]
        before = source[first:last].decode().strip()
        after = changed[first : last + len(changed) - len(source)].decode().strip()
        yield Mutant(module, node.lineno, kind, before, after, changed.decode())


def faults(node: ast.AST, above: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, str, str]]:
    """Yield the places of faults below a node: what is replaced, the kind of fault, the new text."""
    if is_left_out(node, above):
        return
    yield from faults_at(node, above)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "pattern"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from faults(child, (*above, node))


def is_left_out(node: ast.AST, above: tuple[ast.AST, ...]) -> bool:
    """Whether no result follows from a node and all below it."""
    parent = above[-1] if above else None
    match node:
        case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.Assert():
            return True
        case ast.FunctionDef(name="__repr__") | ast.keyword(arg="stacklevel" | "repr"):
            return True
        case ast.Assign(targets=[ast.Name(id="message" | "__all__")]) | ast.AugAssign(target=ast.Name(id="message")):
            return True
        case ast.Expr(value=ast.Constant()) | ast.Expr(value=ast.Call(func=ast.Attribute(attr="warn"))):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case (
            ast.BinOp(left=ast.Constant(value=2), op=ast.Pow())
            | ast.BinOp(left=ast.BinOp(left=ast.Constant(value=2), op=ast.Pow()))
        ):
            return True
        case ast.UnaryOp(op=ast.USub()) if getattr(getattr(parent, "func", None), "attr", "") == "reshape":
            return True  # any negative number of rows stands for the one that fits
        case ast.Call(func=ast.Name(id="get_close_matches")):
            return True
        case ast.BinOp(op=ast.Add()):
            return any(isinstance(side, ast.JoinedStr) or is_text(side) for side in (node.left, node.right))
    guards = isinstance(parent, ast.If) and node is parent.test and isinstance(parent.body[-1], ast.Raise)
    return guards and any(isinstance(each, ast.Name) and each.id == "isinstance" for each in ast.walk(node))


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def faults_at(node: ast.AST, above: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, str, str]]:
    """Yield the faults that begin at a node."""
    parent = above[-1] if above else None
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield node, "comparison", f"({ast.unparse(left)} {COMPARISONS[type(op)]} {ast.unparse(right)})"
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
            yield node, "operator", f"(({ast.unparse(left)}) {OPERATORS[type(op)]} ({ast.unparse(right)}))"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, "not removed", f"({ast.unparse(operand)})"
        case ast.Constant(value=bool() as value) if is_default(node, parent):
            yield node, "default", str(not value)
        case ast.Constant(value=float() as value) if is_default(node, parent):
            yield node, "default", str(2.0 * value or 1.0)
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield node, "default" if is_default(node, parent) else "constant", str(value + 1)
        case ast.Name(id="min" | "max" as name) | ast.Attribute(attr=name) if name in OPPOSITES and is_called(
            node, parent
        ):
            text = OPPOSITES[name] if isinstance(node, ast.Name) else f"{ast.unparse(node.value)}.{OPPOSITES[name]}"
            yield node, "min and max", text
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield node, "statement dropped", "pass"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not is_left_out(test, (*above, node)):
            yield from negated(test)
        case ast.comprehension(ifs=tests):
            for test in tests:
                yield from negated(test)


def negated(test: ast.expr) -> Iterator[tuple[ast.AST, str, str]]:
    if not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
        yield test, "condition negated", f"(not ({ast.unparse(test)}))"


def is_default(node: ast.AST, parent: ast.AST | None) -> bool:
    """Whether a constant is the default of a parameter, or of a field of a class."""
    return isinstance(parent, ast.arguments) or (isinstance(parent, ast.AnnAssign) and node is parent.value)


def is_called(node: ast.AST, parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.Call) and node is parent.func


def tests_of(module: str) -> list[str]:
    """Return files and folders of tests, below the root."""
    found = next(tests for pattern, tests in TESTS.items() if fnmatch.fnmatch(module, pattern))
    names = [f"tests/{name}" for name in ["test_defaults.py", *found.format(stem=Path(module).stem).split()]]
    if "_number(" in (PACKAGE / module).read_text(encoding="utf-8") or module.startswith("solvers/"):
        names.append("tests/test_ranges.py")
    return [name for name in names if (ROOT / name).exists()]


def copy_package(folder: Path) -> None:
    """Copy the package into a folder, and compile it, so that runs need not."""
    shutil.copytree(PACKAGE, folder / "loglinear", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)


def start(folder: Path, tests: list[str], *options: str) -> int:
    """Run tests on the package of a folder in a fork of this process, which has its imports; return the fork's id."""
    process = os.fork()
    if process:
        return process
    try:
        os.setsid()
        output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(folder))
        os.chdir(ROOT)
        import loglinear

        if not loglinear.__file__.startswith(str(folder)):
            print(f"Python imports {loglinear.__file__} rather than the copy in {folder}")
            os._exit(NO_TESTS)
        code = int(pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *options, *tests]))
        sys.stdout.flush()
        os._exit(code)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # a package that cannot be imported


def waited(process: int, seconds: float) -> int | None:
    """Return the exit code of a fork; None if it ran past the time limit and was killed."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def seconds_by_file(folder: Path, tests: list[str]) -> Counter[str]:
    """Run tests on the package without a fault; return the seconds of each file. A failing test ends the program."""
    report = folder / "report.xml"
    if waited(start(folder, tests, f"--junitxml={report}"), math.inf):
        message = f"tests fail without any fault:\n{(folder / 'output.txt').read_text()[-3000:]}"
        raise SystemExit(message)
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        seconds[case.attrib["classname"]] += float(case.attrib["time"])
    return seconds


def limit(seconds: Counter[str], tests: list[str]) -> float:
    """Return the time limit of a run of tests, seconds."""
    names = [test.removesuffix(".py").replace("/", ".") for test in tests]
    usual = sum(value for name, value in seconds.items() if any(name.startswith(each) for each in names))
    return LEAST_SECONDS + TIMES * usual


def outcome(folder: Path, mutant: Mutant, seconds: float) -> tuple[str, str]:
    """Return whether a mutant is killed, has survived or ran out of time; and the test that noticed it."""
    place = folder / "loglinear" / mutant.module
    whole = place.read_bytes()
    compile(mutant.source, mutant.module, "exec")
    place.write_text(mutant.source, encoding="utf-8")
    for compiled in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
        compiled.unlink()
    try:
        code = waited(start(folder, tests_of(mutant.module), "-x"), seconds)
    finally:
        place.write_bytes(whole)
    lines = (folder / "output.txt").read_text(errors="replace").splitlines()
    if code == NO_TESTS:
        raise SystemExit("\n".join(lines))
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return {None: "timeout", 0: "survived"}.get(code, "killed"), (failed or lines or [""])[-1][:160]


def attempted(mutants: list[Mutant], folder: Path) -> Iterator[dict[str, str | int]]:
    """Yield every mutant with its outcome."""
    explained = {(each["module"], each["before"], each["after"]) for each in json.loads(EXPLAINED.read_text())}
    seconds = seconds_by_file(folder, sorted({test for each in mutants for test in tests_of(each.module)}))
    print(f"tests without a fault: {seconds.total():.0f} s", flush=True)
    for mutant in mutants:
        found, by = outcome(folder, mutant, limit(seconds, tests_of(mutant.module)))
        if found == "survived" and (mutant.module, mutant.before, mutant.after) in explained:
            found = "equivalent"
        row = {**asdict(mutant), "outcome": found, "by": by}
        del row["source"]
        yield row


def table(results: list[dict[str, str | int]]) -> str:
    """Return counts by module as lines of a Markdown table."""
    kinds = ("killed", "timeout", "equivalent", "survived")
    lines = ["| module | mutants | " + " | ".join(kinds) + " |", "| --- |" + " ---: |" * (len(kinds) + 1)]
    for module in [*sorted({each["module"] for each in results}), "all"]:
        counts = Counter(each["outcome"] for each in results if module in (each["module"], "all"))
        lines.append(f"| {module} | {counts.total()} | " + " | ".join(str(counts[kind]) for kind in kinds) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, metavar="N", help="try N mutants, drawn at random; all by default")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the sample")
    parser.add_argument("--only", metavar="GLOB", default="*", help="modules, such as 'networks/*'")
    parser.add_argument("--again", type=Path, metavar="FILE", help="try those that have survived an earlier run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every mutant with its outcome")
    given = parser.parse_args()
    files = sorted({path.relative_to(PACKAGE).as_posix() for each in MODULES for path in PACKAGE.glob(each)})
    chosen = [mutant for file in files if fnmatch.fnmatch(file, given.only) for mutant in mutants(file)]
    print(f"{len(chosen)} mutants of {len({each.module for each in chosen})} modules", flush=True)
    if given.again is not None:
        rows = [each for each in json.loads(given.again.read_text()) if each["outcome"] == "survived"]
        survivors = {(each["module"], each["before"], each["after"]) for each in rows}
        chosen = [each for each in chosen if (each.module, each.before, each.after) in survivors]
    if given.sample is not None and given.sample < len(chosen):
        chosen = random.Random(given.seed).sample(chosen, given.sample)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        copy_package(Path(folder))
        for row in attempted(chosen, Path(folder)):
            results.append(row)
            print(f"{len(results):4} {row['outcome']:10} {row['module']}:{row['line']} {row['kind']}", flush=True)
            if row["outcome"] == "survived":
                print(f"     - {row['before']}\n     + {row['after']}", flush=True)
            if given.json:
                given.json.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))
    return int(any(each["outcome"] == "survived" for each in results))


if __name__ == "__main__":
    sys.exit(main())
