"""Reports: documents as values, written as Markdown or one HTML page."""

from dvae.reports.run_page import report

__all__ = ["report"]
