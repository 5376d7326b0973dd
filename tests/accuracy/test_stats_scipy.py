"""src/stats against scipy, an independent implementation, where Debian's python3-scipy is installed.

The library's sources are compiled into a shared object of their own and called through ctypes. What scipy computes by
another definition (its normal approximations, its bootstrap's random numbers) is not compared.
"""

import ctypes
import itertools
import pathlib
import random
import shutil
import subprocess
from ctypes import Structure, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64

import pytest

try:
    from scipy import stats
except ImportError:
    stats = None

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Interval(Structure):
    _fields_ = [
        ("exists", c_bool),
        ("estimate", c_double),
        ("low", c_double),
        ("high", c_double),
        ("level", c_double),
        ("nominal", c_bool),
        ("method", c_int),
        ("reason", c_char_p),
    ]


class Test(Structure):
    _fields_ = [
        ("statistic", c_double),
        ("p", c_double),
        ("p_greater", c_double),
        ("p_less", c_double),
        ("p_error", c_double),
        ("exact", c_bool),
        ("method", c_char_p),
    ]
    __test__ = False


class Permutation(Structure):
    _fields_ = [("of", c_int), ("draws", c_size_t), ("seed", c_uint64)]


class Bootstrap(Structure):
    _fields_ = [("method", c_int), ("level", c_double), ("draws", c_size_t), ("seed", c_uint64)]


class Description(Structure):
    _fields_ = [("n", c_size_t)] + [(name, c_double) for name in ("min", "max", "mean", "sd", "median")]


class Drift(Structure):
    _fields_ = [("tau", c_double), ("p", c_double), ("exact", c_bool)]


class Trend(Structure):
    _fields_ = [("least_squares", Interval), ("theil_sen", Interval), ("intercept", c_double)]


PERCENTILE, BCA = 3, 4


def array(values):
    return (c_double * len(values))(*values)


@pytest.fixture(name="lib")
def compiled(tmp_path):
    if stats is None:
        pytest.skip("scipy is not installed (Debian: python3-scipy)")
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    sources = sorted((ROOT / "src/stats").glob("*.c")) + [ROOT / "src/base/mem.c", ROOT / "src/base/vec.c"]
    target = tmp_path / "libstats.so"
    argv = [compiler, "-std=c17", "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared", "-I", ROOT / "src", *sources, "-o", target, "-lm"]
    subprocess.run(argv, check=True)
    library = ctypes.CDLL(str(target))
    for name in ("normal_cdf", "normal_quantile", "t_cdf", "t_quantile", "t_noncentral_cdf", "beta_cdf"):
        getattr(library, "dist_" + name).restype = c_double
    for name in ("dist_binomial_pmf", "dist_binomial_cdf", "compare_cliff_delta", "quantile"):
        getattr(library, name).restype = c_double
    library.series_outliers.restype = c_size_t
    return library


def d(value):
    return c_double(value)


def close(got, expected, relative=1e-10, absolute=1e-300):
    assert got == pytest.approx(expected, rel=relative, abs=absolute)


def mann_whitney(lib, a, b):
    out = Test()
    lib.compare_mann_whitney(array(a), c_size_t(len(a)), array(b), c_size_t(len(b)), ctypes.byref(out))
    return out


def test_normal_distribution(lib):
    for x in (-38, -20, -8.3, -3, -1e-9, 0, 0.5, 1.96, 6, 9):
        close(lib.dist_normal_cdf(d(x)), stats.norm.cdf(x))
    for p in (1e-300, 1e-100, 1e-17, 1e-4, 0.02425, 0.3, 0.499999, 0.5, 0.7, 0.975, 1 - 1e-12):
        close(lib.dist_normal_quantile(d(p)), stats.norm.ppf(p), absolute=1e-15)


def test_student_t_distribution(lib):
    for df in (0.1, 0.5, 1, 1.7, 2, 3, 9, 18, 29.5, 100, 1e4, 1e7):
        for t in (-500, -40, -6, -2.1, -1, -0.3, -1e-6, 0, 1e-3, 0.7, 1.5, 4, 30):
            close(lib.dist_t_cdf(d(t), d(df)), stats.t.cdf(t, df))
    for df in (0.5, 1, 2, 3.3, 9, 18, 60, 1e3, 1e6):
        for p in (1e-20, 1e-6, 0.005, 0.025, 0.2, 0.45, 0.6, 0.95, 0.975, 0.9995):
            # scipy 1.10 itself is off by 1e-9 here: at df = 1 the truth is a tangent.
            close(lib.dist_t_quantile(d(p), d(df)), stats.t.ppf(p, df), relative=5e-9)


def test_noncentral_t_distribution(lib):
    for df, shift, t in itertools.product((1, 2, 3, 18, 38.4, 500), (0, 0.5, 2, 4.3, 9), (-3, 0, 1.2, 2.878, 7)):
        close(lib.dist_t_noncentral_cdf(d(t), d(df), d(shift)), stats.nct.cdf(t, df, shift), relative=1e-5, absolute=1e-7)


def test_beta_and_binomial_distributions(lib):
    for a, b, x in itertools.product((0.01, 0.5, 1, 3, 40, 900, 1e5), (0.02, 0.5, 2, 33, 1e4), (1e-12, 0.01, 0.3, 0.5, 0.9, 0.999)):
        close(lib.dist_beta_cdf(d(x), d(a), d(b)), stats.beta.cdf(x, a, b), absolute=1e-280)
    for n, p in itertools.product((1, 6, 30, 1000, 100000), (1e-6, 0.03, 0.5, 0.97)):
        for k in {0, 1, n // 3, n // 2, n - 1, n}:
            close(lib.dist_binomial_pmf(c_int64(k), c_int64(n), d(p)), stats.binom.pmf(k, n, p), absolute=1e-280)
            close(lib.dist_binomial_cdf(c_int64(k), c_int64(n), d(p)), stats.binom.cdf(k, n, p), absolute=1e-280)


def test_description_and_quantiles(lib):
    import numpy

    numbers = random.Random(1)
    for n in (1, 2, 3, 10, 41, 1001):
        values = [1e9 + numbers.gauss(0, 1) for _ in range(n)]
        out = Description()
        lib.describe(array(values), c_size_t(n), ctypes.byref(out))
        close(out.mean, numpy.mean(numpy.array(values, dtype=numpy.longdouble)), 1e-15)
        close(out.median, numpy.median(values), 1e-15)
        if n > 1:
            close(out.sd, numpy.std(numpy.array(values, dtype=numpy.longdouble), ddof=1), 1e-12)
        for q in (0, 0.1, 0.37, 0.5, 0.98, 1):
            close(lib.quantile(array(values), c_size_t(n), d(q)), numpy.quantile(values, q), 1e-15)


def test_mann_whitney_exact_and_with_ties(lib):
    numbers = random.Random(2)
    for n, m in ((3, 3), (4, 9), (10, 10), (7, 30), (45, 45)):
        a, b = [numbers.gauss(0, 1) for _ in range(n)], [numbers.gauss(0.7, 1) for _ in range(m)]
        got = mann_whitney(lib, a, b)
        assert got.exact
        for p, alternative in ((got.p, "two-sided"), (got.p_greater, "greater"), (got.p_less, "less")):
            expected = stats.mannwhitneyu(b, a, alternative=alternative, method="exact")
            close(got.statistic, expected.statistic)
            close(p, expected.pvalue)
    a, b = [numbers.randrange(8) for _ in range(50)], [numbers.randrange(1, 9) for _ in range(60)]
    got = mann_whitney(lib, a, b)
    assert not got.exact
    close(got.p, stats.mannwhitneyu(b, a, alternative="two-sided", method="asymptotic").pvalue)
    a, b = [1, 2, 2, 3, 3], [2, 3, 4, 4, 5]
    got = mann_whitney(lib, a, b)
    # scipy has no exact p with ties of its own, but it can permute.
    kind = {"permutation_type": "independent", "n_resamples": float("inf"), "vectorized": False}
    ranks = stats.rankdata(a + b)
    for p, alternative in ((got.p_greater, "greater"), (got.p_less, "less")):
        expected = stats.permutation_test((ranks[5:], ranks[:5]), lambda x, y: sum(x), alternative=alternative, **kind)
        close(p, expected.pvalue)


def test_signed_rank(lib):
    numbers = random.Random(3)
    for n in (3, 8, 15, 24):
        a = [numbers.gauss(0, 1) for _ in range(n)]
        b = [x + numbers.gauss(0.4, 1) for x in a]
        out = Test()
        lib.compare_signed_rank(array(a), array(b), c_size_t(n), ctypes.byref(out))
        differences = [y - x for x, y in zip(a, b)]
        close(out.p, stats.wilcoxon(differences, mode="exact").pvalue)
        close(out.p_greater, stats.wilcoxon(differences, alternative="greater", mode="exact").pvalue)
        close(out.statistic, stats.wilcoxon(differences, alternative="greater", mode="exact").statistic)


def test_permutation_and_sign_flip(lib):
    numbers = random.Random(4)
    a, b = [numbers.gauss(10, 1) for _ in range(6)], [numbers.gauss(11, 1) for _ in range(7)]
    how = Permutation(0, 0, 1)
    exhaustive = {"vectorized": False, "n_resamples": float("inf")}
    got = Test()
    lib.compare_permutation(array(a), c_size_t(6), array(b), c_size_t(7), ctypes.byref(how), ctypes.byref(got))
    assert got.exact

    def difference(x, y):
        return sum(x) / len(x) - sum(y) / len(y)

    expected = stats.permutation_test((b, a), difference, alternative="greater", **exhaustive)
    close(got.statistic, expected.statistic)
    close(got.p_greater, expected.pvalue)
    lib.compare_sign_flip(array(a), array(b[:6]), c_size_t(6), ctypes.byref(how), ctypes.byref(got))
    differences = [y - x for x, y in zip(a, b)]
    expected = stats.permutation_test(
        (differences,), lambda x: sum(x), permutation_type="samples", alternative="greater", **exhaustive
    )
    close(got.p_greater, expected.pvalue)


def test_intervals_of_mean_and_bootstrap(lib):
    numbers = random.Random(5)
    values = [numbers.lognormvariate(0, 0.5) for _ in range(25)]
    out = Interval()
    lib.interval_mean(array(values), c_size_t(25), d(0.95), ctypes.byref(out))
    mean, error = stats.tmean(values), stats.sem(values)
    low, high = stats.t.interval(0.95, 24, loc=mean, scale=error)
    close(out.low, low)
    close(out.high, high)
    for method, name in ((PERCENTILE, "percentile"), (BCA, "BCa")):
        how = Bootstrap(method, 0.95, 20000, 7)
        lib.interval_bootstrap(array(values), c_size_t(25), lib.statistic_mean, None, ctypes.byref(how), ctypes.byref(out))
        expected = stats.bootstrap((values,), lambda x, axis: x.mean(axis), n_resamples=20000, method=name, random_state=1)
        # Both ends are random: two draws of 20 000 agree to a few hundredths of the width.
        width = out.high - out.low
        close(out.low, expected.confidence_interval.low, absolute=0.04 * width)
        close(out.high, expected.confidence_interval.high, absolute=0.04 * width)


def test_drift_and_trend(lib):
    numbers = random.Random(6)
    for n in (5, 9, 30):
        values = [0.1 * i + numbers.gauss(0, 1) for i in range(n)]
        drift, trend = Drift(), Trend()
        lib.series_drift(array(values), c_size_t(n), ctypes.byref(drift))
        expected = stats.kendalltau(range(n), values, method="exact")
        close(drift.tau, expected.correlation)
        close(drift.p, expected.pvalue)
        lib.series_trend(None, array(values), c_size_t(n), d(0.9), ctypes.byref(trend))
        line = stats.linregress(range(n), values)
        half = stats.t.ppf(0.95, n - 2) * line.stderr
        close(trend.least_squares.estimate, line.slope)
        close(trend.least_squares.low, line.slope - half, absolute=1e-12)
        close(trend.least_squares.high, line.slope + half, absolute=1e-12)
        close(trend.intercept, line.intercept, absolute=1e-12)
        close(trend.theil_sen.estimate, stats.theilslopes(values, range(n))[0])


def test_shift_and_cliff_delta(lib):
    import numpy

    numbers = random.Random(7)
    a, b = [numbers.gauss(0, 1) for _ in range(12)], [numbers.gauss(1, 1) for _ in range(9)]
    out = Interval()
    lib.compare_shift(array(a), c_size_t(12), array(b), c_size_t(9), d(0.95), ctypes.byref(out))
    close(out.estimate, numpy.median(numpy.subtract.outer(b, a)))
    # The interval holds exactly the shifts that the exact two-sided test at the same level does not reject.
    for shift, inside in ((out.low - 1e-9, False), (out.low + 1e-9, True), (out.high - 1e-9, True), (out.high + 1e-9, False)):
        p = stats.mannwhitneyu([y - shift for y in b], a, alternative="two-sided", method="exact").pvalue
        assert (p > 1 - out.level + 1e-12) == inside
    delta = lib.compare_cliff_delta(array(a), c_size_t(12), array(b), c_size_t(9))
    close(delta, 2 * stats.mannwhitneyu(b, a).statistic / (12 * 9) - 1)
