"""The data sets: where each one is, what is predicted from what, how its rows are divided."""

from __future__ import annotations

from dataclasses import dataclass

FAMILIES = ("gaussian", "mixture")


@dataclass(frozen=True)
class DataSet:
    """One regression problem.

    Attributes
    ----------
    path : str
        Of the Parquet file, inside the data folder.
    target : str
        The column that is predicted.
    features : tuple of str
        Columns that it is predicted from, or ("*",) for all but the target and `left_out`.
    origin : str
        Where the file can be had, and how it is made.
    left_out : tuple of str
        Columns that are not features.
    complete_only : bool
        Whether columns with missing values are left out as well. Otherwise a missing number becomes
        the median and a feature of its own says so.
    group : str, optional
        Rows with the same value of this column stay together when rows are divided.
    small : bool
        Whether the training rows recalibrate as well, as in the paper.
    max_epochs, patience : int
        Training ends after so many epochs, or so many without improvement.
    """

    path: str
    target: str
    origin: str
    features: tuple[str, ...] = ("*",)
    left_out: tuple[str, ...] = ()
    complete_only: bool = False
    group: str | None = None
    small: bool = False
    max_epochs: int = 100
    patience: int = 20


_UCI = "https://archive.ics.uci.edu/dataset/"

_NAVAL_COLUMNS = (
    "lp", "v", "GTT", "GTn", "GGn", "Ts", "Tp", "T48", "T1", "T2", "P48", "P1", "P2", "Pexh",
    "TIC", "mf",
)  # fmt: skip

# What is known by the third day of the study.
_SUPPORT_COLUMNS = (
    "age", "sex", "dzgroup", "dzclass", "num.co", "edu", "income", "scoma", "race", "sps", "aps",
    "hday", "diabetes", "dementia", "ca", "meanbp", "wblc", "hrt", "resp", "temp", "pafi", "alb",
    "bili", "crea", "sod", "ph", "glucose", "bun", "urine", "adlp", "adls", "adlsc",
)  # fmt: skip

# What is known after the first day in intensive care; predictions of other models are left out.
_EICU_COLUMNS = (
    "gender", "age", "ethnicity", "admissionheight", "admissionweight", "hospitaladmitoffset",
    "hospitaladmitsource", "unittype", "unitadmitsource", "unitvisitnumber", "unitstaytype",
    "aps_intubated", "aps_vent", "aps_dialysis", "aps_eyes", "aps_motor", "aps_verbal", "aps_meds",
    "aps_urine", "aps_wbc", "aps_temperature", "aps_respiratoryrate", "aps_sodium", "aps_heartrate",
    "aps_meanbp", "aps_ph", "aps_hematocrit", "aps_creatinine", "aps_albumin", "aps_pao2",
    "aps_pco2", "aps_bun", "aps_glucose", "aps_bilirubin", "aps_fio2",
)  # fmt: skip

_DHS_COLUMNS = (
    "urban", "ooc_knn_nl_mean_scalar", "ooc_resnet_18_ms", "ooc_resnet_18_ms_nl_concat",
    "ooc_resnet_18_nl", "ooc_resnet_18_rgb_transfer", "ooc_ridge_ms_hist", "ooc_ridge_ms_nl_hist",
    "ooc_ridge_nl_hist", "ooc_ridge_nl_mean_scalar", "ooc_ridge_rgb_hist", "ooc_ridge_rgb_nl_hist",
)  # fmt: skip

_DHS_ORIGIN = (
    "the wealth index and the predictions of Yeh et al. (2020), in the repository "
    "github.com/sustainlab-group/africa_poverty: one row per survey cluster with the columns "
    "country, wealthpooled and those in paper/sets.py"
)

SETS = {
    "protein": DataSet(
        "protein/protein.parquet",
        "RMSD",
        f'{_UCI}265: polars.read_csv("CASP.csv")',
        max_epochs=150,
    ),
    "energy": DataSet(
        "energy/energy.parquet",
        "Appliances",
        f'{_UCI}374: polars.read_csv("energydata_complete.csv").drop("date")',
        max_epochs=150,
    ),
    "naval": DataSet(
        "naval/naval.parquet",
        "kMt_turbine_decay",
        f'{_UCI}316: pandas.read_csv("data.txt", sep=r"\\s+", header=None), 18 columns named '
        f"{', '.join(_NAVAL_COLUMNS)}, kMc_compressor_decay, kMt_turbine_decay",
        features=_NAVAL_COLUMNS,
        max_epochs=300,
        patience=80,
    ),
    "crime": DataSet(
        "crime/crime.parquet",
        "ViolentCrimesPerPop",
        f'{_UCI}183: pandas.read_csv("communities.data", na_values="?", header=None), 128 columns '
        'named as in "communities.names"',
        left_out=("state", "county", "community", "communityname", "fold"),
        complete_only=True,
        small=True,
    ),
    "los_support2": DataSet(
        "los_support2/support2.parquet",
        "slos",
        f'{_UCI}880, or hbiostat.org/data: polars.read_csv("support2.csv")',
        features=_SUPPORT_COLUMNS,
    ),
    "los_eicu_demo": DataSet(
        "los_eicu_demo/eicu_demo_stays.parquet",
        "unit_los_days",
        "https://doi.org/10.13026/G2F309: one row per unit stay, the tables patient and "
        "apacheApsVar (its columns with the prefix aps_, -1 as missing), and unit_los_days from "
        "unitdischargeoffset",
        features=_EICU_COLUMNS,
        group="patient",
        small=True,
    ),
    "dhs_wealth": DataSet(
        "dhs_wealth/dhs_wealth.parquet",
        "wealthpooled",
        _DHS_ORIGIN,
        features=_DHS_COLUMNS,
        group="country",
        small=True,
    ),
    "dhs_wealth_random": DataSet(
        "dhs_wealth/dhs_wealth.parquet",
        "wealthpooled",
        _DHS_ORIGIN,
        features=_DHS_COLUMNS,
        small=True,
    ),
}
