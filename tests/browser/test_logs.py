"""The log viewer: every line of a million reached, found, marked, and shown as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

LAST = 1_000_000


def line(page, number):
    return page.locator(f'#log-view .prs-line:has(> a[data-line="{number}"])')


@pytest.fixture
def view(page, big_log):
    page.goto(big_log)
    expect(line(page, 1)).to_contain_text("line 1")
    return page.locator("#log-view")


def test_end_and_home_reach_the_last_line_and_the_first(page, view):
    view.focus()

    page.keyboard.press("End")
    expect(line(page, LAST)).to_be_in_viewport()
    expect(line(page, LAST)).to_contain_text(f"line {LAST}")
    page.keyboard.press("Home")
    expect(line(page, 1)).to_be_in_viewport()


def test_a_number_leads_to_its_line(page, view):
    for number in (999_999, 2, LAST, 654_321):
        page.get_by_role("textbox", name="Go to line").fill(str(number))
        page.keyboard.press("Enter")
        expect(line(page, number)).to_be_in_viewport()
        expect(line(page, number)).to_contain_text(f"line {number}")
        assert page.url.endswith(f"#L{number}")


def test_dragging_the_bar_reaches_both_ends(page, view):
    view.evaluate("view => { view.scrollTop = view.scrollHeight }")
    expect(line(page, LAST)).to_be_in_viewport()
    view.evaluate("view => { view.scrollTop = 0 }")
    expect(line(page, 1)).to_be_in_viewport()


def test_the_wheel_moves_by_lines_at_every_place(page, view):
    page.get_by_role("textbox", name="Go to line").fill("500000")
    page.keyboard.press("Enter")
    expect(line(page, 500_000)).to_be_in_viewport()
    before = page.evaluate("document.querySelector('#log-view').getBoundingClientRect().top")

    view.hover()
    page.mouse.wheel(0, 180)

    expect(line(page, 500_010)).to_be_in_viewport()
    expect(line(page, 500_100)).to_have_count(0)
    assert before == page.evaluate(
        "document.querySelector('#log-view').getBoundingClientRect().top"
    )


def test_the_wheel_reaches_the_last_line(page, view):
    view.focus()
    page.keyboard.press("End")
    for _ in range(30):
        page.keyboard.press("ArrowUp")
    expect(line(page, LAST)).not_to_be_in_viewport()

    view.hover()
    for _ in range(10):
        page.mouse.wheel(0, 100)

    expect(line(page, LAST)).to_be_in_viewport()


def test_lines_in_the_address_are_marked(page, big_log):
    page.goto(f"{big_log}#L700010-L700020")

    for number in (700_010, 700_020):
        expect(line(page, number)).to_have_class("prs-line is-marked")
        expect(line(page, number)).to_be_in_viewport()
    expect(line(page, 700_021)).to_have_class("prs-line")


def test_clicks_mark_lines_and_are_kept_in_the_address(page, view):
    line(page, 3).locator("a").click()
    line(page, 7).locator("a").click(modifiers=["Shift"])

    assert page.url.endswith("#L3-L7")
    expect(page.get_by_role("button", name="Copy L3–L7")).to_be_visible()
    page.reload()
    expect(line(page, 5)).to_have_class("prs-line is-marked")


def test_marked_lines_are_copied_whole(open_context, big_log):
    context = open_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{big_log}#L150-L850")

    page.get_by_role("button", name="Copy L150–L850").click()

    expect(page.get_by_role("button", name="Copied 701 lines")).to_be_visible()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.splitlines() == [f"line {number}" for number in range(150, 851)]


def test_a_hit_in_the_middle_is_found_and_shown_as_text(page, view):
    page.get_by_role("searchbox", name="Search the whole file").fill("NEEDLE")
    page.keyboard.press("Enter")

    hit = line(page, 500_000)
    expect(hit).to_be_in_viewport()
    expect(page.locator("#log-hits")).to_have_text("1 of 1")
    expect(hit.locator("mark")).to_have_text("needle")
    expect(hit.locator(".ansi-red-fg")).to_have_text("needle")
    expect(hit).to_contain_text("<b>hay</b> <script>alert(1)</script>")
    assert "q=NEEDLE" in page.url


def test_many_hits_are_gone_through_by_key(page, big_log):
    page.goto(f"{big_log}?q=line 9999")
    expect(page.locator("#log-hits")).to_contain_text("of 111")

    page.locator("#log-view").focus()
    page.keyboard.press("n")

    expect(page.locator("#log-hits")).to_have_text("2 of 111")
    expect(line(page, 99_990)).to_be_in_viewport()
    page.keyboard.press("Shift+N")
    expect(line(page, 9_999)).to_be_in_viewport()


def test_text_to_find_in_the_address_leads_to_its_first_line(page, big_log):
    page.goto(f"{big_log}?find=line 345678")

    expect(line(page, 345_678)).to_be_in_viewport()


def test_a_line_that_was_written_over_shows_its_last_state(page, big_log):
    page.goto(f"{big_log}#L499990")

    expect(line(page, 499_990)).to_contain_text("100% done")
    expect(line(page, 499_990)).to_contain_text("↻ 3 updates")
    expect(line(page, 499_990)).not_to_contain_text("50%")


def test_the_list_stays_small(page, view):
    view.focus()
    for key in ("End", "PageUp", "PageUp", "Home", "PageDown"):
        page.keyboard.press(key)

    assert page.locator("#log-view .prs-line").count() < 100


def test_a_search_over_all_logs_leads_to_the_line(page, faulty):
    page.goto(f"/jobs/{faulty['id']}/logs/?q=picked mini-batch 0 ")

    page.locator(".prs-list a").first.click()

    expect(page.locator("#log-view .is-marked")).to_contain_text("picked mini-batch 0 ")


def test_a_log_that_grows_is_followed(page, slow_job):
    path = Path(slow_job["folder"]) / "logs" / "grows.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"old {number}\n" for number in range(500)))
    page.goto(f"/jobs/{slow_job['id']}/logs/grows.txt")
    expect(line(page, 500)).to_be_in_viewport()

    with path.open("a") as file:
        file.write("and one more\n")

    expect(line(page, 501)).to_contain_text("and one more")
    expect(line(page, 501)).to_be_in_viewport()


def test_scrolling_up_ends_following_and_offers_what_is_new(page, slow_job):
    path = Path(slow_job["folder"]) / "logs" / "grows.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"old {number}\n" for number in range(500)))
    page.goto(f"/jobs/{slow_job['id']}/logs/grows.txt")
    expect(line(page, 500)).to_be_in_viewport()

    page.locator("#log-view").focus()
    page.keyboard.press("Home")
    with path.open("a") as file:
        file.write("new\n" * 14)

    expect(page.get_by_role("button", name="14 new lines ↓")).to_be_visible()
    expect(line(page, 1)).to_be_in_viewport()
    page.keyboard.press("f")
    expect(line(page, 514)).to_be_in_viewport()
