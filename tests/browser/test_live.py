"""Pages that move while a job runs, and keep what a person does on them."""

from __future__ import annotations

import re

import psutil
from playwright.sync_api import expect


def done_count(page):
    text = page.locator("#fragment-progress .prs-progress-top").inner_text()
    return int(re.search(r"([\d,]+) of", text)[1].replace(",", ""))


def wait_for_more(page, count):
    """Wait until more mini-batches are done than ``count``; return how many."""
    for _ in range(150):
        if (now := done_count(page)) > count:
            return now
        page.wait_for_timeout(100)
    raise AssertionError(f"still {count} mini-batches done after 15 s")


def test_the_overview_moves_by_itself(page, slow_job):
    page.goto(f"/jobs/{slow_job['id']}/")
    expect(page.locator("#pill")).to_contain_text("Live")
    page.evaluate("window.sameDocument = true")

    first = wait_for_more(page, 0)
    wait_for_more(page, first)

    assert page.evaluate("window.sameDocument")
    expect(page.locator(".prs-cell").first).to_contain_text("p00")
    expect(page.locator("#fragment-top_errors")).to_contain_text("KeyError: 'label'")
    expect(page.locator("#tab-errors")).to_contain_text("1")


def test_what_a_person_does_is_kept_through_updates(page, slow_job):
    page.goto(f"/jobs/{slow_job['id']}/")
    wait_for_more(page, 0)
    page.locator("#cancel-dialog summary").click()
    field = page.locator("#cancel-reason")
    field.fill("wrong model")
    field.evaluate("field => field.setSelectionRange(2, 5)")
    page.evaluate("scrollTo(0, 200)")
    heading = page.locator("h1").element_handle()

    now = wait_for_more(page, done_count(page))
    wait_for_more(page, now)

    expect(field).to_be_focused()
    expect(field).to_have_value("wrong model")
    assert field.evaluate("field => [field.selectionStart, field.selectionEnd]") == [2, 5]
    assert page.evaluate("scrollY") == 200
    assert heading.evaluate("element => element.isConnected")


def test_pause_holds_the_page_and_resume_brings_it_up_to_date(page, slow_job):
    page.goto(f"/jobs/{slow_job['id']}/")
    wait_for_more(page, 0)

    page.get_by_role("button", name="Pause live updates").click()
    expect(page.locator("#pill")).to_have_text("Paused")
    held = done_count(page)
    page.wait_for_timeout(2_000)
    assert done_count(page) == held
    page.keyboard.press(".")

    expect(page.locator("#pill")).to_contain_text("Live")
    wait_for_more(page, held)


def test_cancelling_from_the_page_ends_the_job_with_name_and_note(page, slow_job):
    page.goto(f"/jobs/{slow_job['id']}/")
    wait_for_more(page, 0)

    page.keyboard.press("c")
    expect(page.locator("#cancel-reason")).to_be_focused()
    page.keyboard.type("wrong model")
    page.get_by_role("button", name="Cancel this job").click()

    expect(page.locator("#pill")).to_have_text("Finished")
    expect(page.locator(".prs-headline")).to_contain_text("Cancelled by admin")
    expect(page.locator(".prs-headline")).to_contain_text("wrong model")
    expect(page.get_by_role("link", name="Change and run again")).to_be_visible()
    expect(page.locator("#cancel-dialog")).to_have_count(0)


def test_the_job_list_moves_and_offers_new_jobs(page, system, slow_job, faulty):
    page.goto("/jobs/")
    row = page.locator(f"#job-{slow_job['id']}")
    before = row.inner_text()

    expect(row).not_to_have_text(before)
    row_count = page.locator("[data-row]").count()
    again = system.command("resubmit", faulty["id"])

    expect(page.get_by_role("link", name="1 new job: show")).to_be_visible()
    assert page.locator("[data-row]").count() == row_count
    page.get_by_role("link", name="1 new job: show").click()
    expect(page.locator(f"#job-{again['id']}")).to_be_visible()


def test_the_page_at_the_end_equals_a_fresh_one(page, open_context, system, faulty):
    job = system.command("resubmit", faulty["id"])
    page.goto(f"/jobs/{job['id']}/")
    expect(page.locator("#pill")).to_have_text("Finished")

    fresh = open_context().new_page()
    fresh.goto(f"/jobs/{job['id']}/")

    assert page.locator("#main").inner_text() == fresh.locator("#main").inner_text()


def test_a_session_that_ends_leaves_the_page_readable(page, slow_job, complaints):
    page.goto(f"/jobs/{slow_job['id']}/")
    expect(page.locator("#pill")).to_contain_text("Live")

    page.get_by_role("button", name="Pause live updates").click()
    page.context.clear_cookies()
    page.get_by_role("button", name="Resume live updates").click()

    expect(page.locator("#live-banner")).to_contain_text("You are signed out")
    expect(page.get_by_role("link", name="Sign in again")).to_be_visible()
    expect(page.locator("h1")).to_have_text("slow")
    complaints.found.clear()


def test_nodes_show_what_runs_on_them(page, slow_job):
    page.goto("/nodes/")

    expect(page.locator("#node-n1")).to_contain_text("slow")
    expect(page.locator("#node-n1")).to_contain_text("Online")


def web_part(home):
    """Return the process that serves the pages of this home."""
    for process in psutil.process_iter(["cmdline"]):
        if "prsweb.cli.up.web" in (process.info["cmdline"] or []):
            try:
                if process.environ().get("PRSWEB_HOME") == str(home):
                    return process
            except psutil.Error:
                continue
    raise AssertionError("no web part runs")


def test_the_page_takes_up_again_after_the_server_was_killed(
    page, system, slow_job, complaints
):
    page.goto(f"/jobs/{slow_job['id']}/")
    before = wait_for_more(page, 0)
    page.evaluate("window.sameDocument = true")

    web_part(system.home).kill()

    expect(page.locator("#pill")).to_have_text("Reconnecting…")
    expect(page.locator("#pill")).to_contain_text("Live", timeout=20_000)
    wait_for_more(page, before)
    assert page.evaluate("window.sameDocument")
    complaints.found.clear()  # the browser notes each refused connection
