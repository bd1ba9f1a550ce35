"""From a job page to the cause, and from there to a changed job."""

from __future__ import annotations

from playwright.sync_api import expect


def test_a_failed_item_is_found_in_two_clicks_down_to_the_log_line(page, faulty):
    page.goto(f"/jobs/{faulty['id']}/")

    page.get_by_role("link", name="KeyError").first.click()
    page.get_by_role("link", name="Show in the log").click()

    marked = page.locator("#log-view .is-marked")
    expect(marked.last).to_contain_text("KeyError")
    expect(marked.last).to_be_in_viewport()
    expect(marked.first).to_contain_text("Traceback")


def test_a_failed_mini_batch_leads_to_the_lines_of_each_try(page, faulty):
    page.goto(f"/jobs/{faulty['id']}/mini-batches/?state=failed")

    page.locator("[data-row-link]").first.click()
    page.get_by_role("link", name="user/error/").last.click()

    expect(page.locator("#log-view .is-marked").first).to_contain_text("try 1")


def test_resubmitting_with_another_size_shows_the_difference_and_runs(page, system, faulty):
    page.goto(f"/jobs/{faulty['id']}/")
    page.get_by_role("link", name="Change and run again").click()

    page.get_by_label("mini_batch_size").fill("5")
    page.get_by_role("button", name="Check").click()
    row = page.locator(".prs-changes tr", has_text="mini_batch_size")
    expect(row.locator("del")).to_have_text("2")
    expect(row.locator("ins")).to_have_text("5")
    expect(page.locator(".prs-field.is-changed")).to_have_count(1)
    page.get_by_role("button", name="Run again").dblclick()

    expect(page.locator("#pill")).to_have_text("Finished")
    expect(page.get_by_text("12 of 12 mini-batches", exact=True)).to_be_visible()
    page.locator("#tab-history").click()
    expect(page.locator(".prs-changes")).to_contain_text("mini_batch_size")
    jobs = system.command("jobs")["items"]
    assert len([job for job in jobs if job.get("mini_batches") == 12]) == 1


def test_a_wrong_value_is_told_at_its_field(page, faulty, complaints):
    page.goto(f"/jobs/new/?from={faulty['id']}")

    page.get_by_label("run_max_try").fill("often")
    page.get_by_role("button", name="Check").click()

    expect(page.locator(".prs-field", has_text="run_max_try")).to_contain_text(
        "must be a whole number"
    )
    expect(page.get_by_label("run_max_try")).to_have_value("often")
    complaints.found.clear()  # the browser notes the 422
