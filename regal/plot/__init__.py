"""Pictures: a plan as a memory curve and a Gantt chart, fronts of plans, and previews for notebooks.

Plotly is loaded when the first figure is drawn.
"""

from regal.plot.front import plot_front
from regal.plot.memory import Resident, live_tensors
from regal.plot.plan import plot_plan
from regal.plot.save import save_figure

__all__ = ["Resident", "live_tensors", "plot_front", "plot_plan", "save_figure"]
