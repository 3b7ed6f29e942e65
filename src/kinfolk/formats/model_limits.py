"""The ranges of the numbers in a model folder, each with its reason: a folder may come from anybody.

What a number promises is checked before anything of its size is allocated or repeated.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kinfolk._core.checks import LARGEST, MOST_HOPS, MOST_NEIGHBORS

MOST_DIMENSIONS = 1 << 20  # a vector of 4 MB
MOST_WEIGHT = 1e6  # a softmax of scores times this is the largest score alone, and no overflow of float32 is near

Neighbors = Annotated[int, Field(ge=1, le=MOST_NEIGHBORS)]
Dimensions = Annotated[int, Field(ge=1, le=MOST_DIMENSIONS)]
Hops = Annotated[int, Field(ge=1, le=MOST_HOPS)]
Count = Annotated[int, Field(ge=1, le=LARGEST)]  # of training steps or rows: nothing is repeated or allocated by it
Seed = Annotated[int, Field(ge=0, le=LARGEST)]
Weight = Annotated[float, Field(ge=-MOST_WEIGHT, le=MOST_WEIGHT)]
Odds = Annotated[float, Field(ge=-1e12, le=1e12)]  # of a calibration: scores are divided by a spread of 1e-9 or more
Share = Annotated[float, Field(ge=0, le=1)]
Score = Annotated[float, Field(ge=-2, le=2)]  # a threshold of cosines or shares, or a little beyond all of them
Word = Annotated[str, Field(max_length=64)]  # a choice; which ones there are is checked where it is used
