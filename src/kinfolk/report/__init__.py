"""Figures and the self-contained HTML report; needs the extra `report`, which is checked here for all modules."""

from kinfolk._core.extras import require

require("matplotlib", extra="report")
require("jinja2", extra="report")
