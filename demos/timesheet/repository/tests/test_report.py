from decimal import Decimal

from timesheet.cli import main
from timesheet.entries import read_entries
from timesheet.report import invoice, render, total_by_project, total_by_week

LINES = [
    "2025-03-03 09:00-12:20 website menu and footer",
    "2025-03-03 13:00-17:00 backend import of old orders",
    "2025-03-10 10:00-10:10 website a typo",
]


def test_total_by_project_counts_started_steps():
    assert total_by_project(read_entries(LINES), 15) == {"website": 225, "backend": 240}


def test_total_by_project_by_the_minute():
    assert total_by_project(read_entries(LINES)) == {"website": 210, "backend": 240}


def test_total_by_week():
    assert total_by_week(read_entries(LINES)) == {(2025, 10): 440, (2025, 11): 10}


def test_invoice():
    lines = invoice(read_entries(LINES), {"website": Decimal(80), "backend": Decimal(95)}, 15)
    assert [line.amount for line in lines] == [Decimal("300.00"), Decimal("380.00")]


def test_render_ends_with_the_sum():
    text = render(invoice(read_entries(LINES), {"website": Decimal(80), "backend": Decimal(95)}))
    assert text.splitlines()[-1].split() == ["total", "7h", "30m", "660.00"]


def test_command_line(tmp_path, capsys):
    file = tmp_path / "week.txt"
    file.write_text("\n".join(LINES))
    assert main([str(file), "--rate", "website=80", "--rate", "backend=95", "--step", "60"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["website", "5h", "400.00"]
