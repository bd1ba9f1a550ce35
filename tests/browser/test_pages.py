"""Each page in a real browser: nothing complained about, nothing to the side, axe content."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
JOB_PAGES = (
    "",
    "mini-batches/",
    "mini-batches/?state=failed",
    "mini-batches/10/",
    "nodes/",
    "resources/",
    "logs/",
    "logs/user/stdout/n1/process000.stdout.txt",
    "logs/?q=depth",
    "errors/",
    "config/",
    "outputs/",
    "history/",
)
OTHER_PAGES = ("/jobs/", "/jobs/?q=nothing-is-called-so", "/nodes/", "/nodes/n1/", "/jobs/new/")


def violations(page):
    """Return what axe finds, a line each."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run({resultTypes: ['violations']}).then(r => r.violations)")
    return [
        f"{one['id']}: {one['help']}: {node['html'][:200]}"
        for one in found
        for node in one["nodes"]
    ]


def every_page(job):
    pages = [f"/jobs/{job['id']}/{page}" for page in JOB_PAGES]
    return [*OTHER_PAGES, *pages, f"/jobs/new/?from={job['id']}"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(open_context, base, faulty, theme):
    context = open_context()
    context.add_cookies([{"name": "theme", "value": theme, "url": base}])
    page = context.new_page()

    found = {}
    for url in every_page(faulty):
        page.goto(url)
        expect(page.locator("main h1").first).to_be_visible()
        if lines := violations(page):
            found[url] = lines

    assert found == {}, "\n".join(line for lines in found.values() for line in lines)


@pytest.mark.parametrize("width", [360, 320])
def test_no_page_is_wider_than_a_narrow_screen(open_context, faulty, width):
    page = open_context(viewport={"width": width, "height": 740}).new_page()

    widths = {}
    for url in every_page(faulty):
        page.goto(url)
        expect(page.locator("main h1").first).to_be_visible()
        widths[url] = page.evaluate("document.documentElement.scrollWidth")

    assert {url: found for url, found in widths.items() if found > width} == {}


def test_a_multi_node_job_shows_its_nodes_and_their_logs(page, ring):
    page.goto(f"/jobs/{ring['id']}/")

    expect(page.get_by_text("main node exited with 0")).to_be_visible()
    expect(page.locator("#tab-mini-batches")).to_have_count(0)
    page.get_by_role("link", name="log", exact=True).first.click()
    expect(page.locator("#log-view")).to_contain_text("ring")


def test_charts_are_drawn_and_have_a_table(page, faulty):
    page.goto(f"/jobs/{faulty['id']}/resources/")

    expect(page.locator("#chart-1 .main-svg").first).to_be_visible()
    page.locator("#chart-1-table summary").click()
    expect(page.locator("#chart-1-table tbody tr").first).to_be_visible()


def test_a_page_that_is_not_there_is_said_in_words(page, complaints):
    page.goto("/jobs/00000000-0000-4000-8000-000000000000/")

    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    complaints.found.clear()  # the browser notes the 404


def test_keys_lead_through_the_pages(page, faulty):
    page.goto("/jobs/")

    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys of this page")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Name or id")).to_be_focused()
    page.keyboard.type(faulty["id"][:8])
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/?q=*")
    page.locator("h1").click()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{faulty['id']}/")
    page.keyboard.press("e")
    page.wait_for_url("**/errors/")
    page.keyboard.press("g")
    page.keyboard.press("n")
    page.wait_for_url("**/nodes/")


def test_the_api_docs_load_local_files_only(page, complaints):
    page.goto("/api/v1/docs")

    expect(page.get_by_text("prsweb").first).to_be_visible()
