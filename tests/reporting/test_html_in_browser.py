"""The page in a real browser: it renders, complains of nothing, and stays within its width."""

import functools
import html
import http.server
import json
import re
import shutil
import subprocess
import threading

import pytest

from reporting.html import write
from tests.reporting import pages

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), "")
pytestmark = pytest.mark.skipif(not BROWSER, reason="no chromium here (apt-get install chromium)")
WIDTH = 1280
# The page forbids scripts of others, so that what it looks like is asked from around it.
AROUND = """<!DOCTYPE html><style>body { margin: 0 } iframe { border: 0 }</style>
<iframe id="page" width="%d" height="900" src="page.html"></iframe><pre id="told"></pre><script>
const frame = document.getElementById("page");
frame.addEventListener("load", () => {
  const inside = frame.contentDocument;
  const wide = () => [...inside.querySelectorAll("body *")]
    .filter((e) => !e.closest("details:not([open]) > :not(summary)"))
    .filter((e) => e.getBoundingClientRect().right > %d + 0.5).map((e) => e.tagName);
  const told = { shut: wide() };
  [...inside.querySelectorAll("details")].slice(0, 60).forEach((e) => { e.open = true; });
  told.open = wide();
  told.width = inside.documentElement.scrollWidth;
  told.title = inside.title;
  told.verdict = inside.querySelector("h1").textContent;
  told.details = inside.querySelectorAll("details.node").length;
  told.scripts = inside.querySelectorAll("script").length;
  told.images = [...inside.images].filter((e) => !e.naturalWidth).length;
  told.dark = getComputedStyle(inside.body).backgroundColor;
  const query = inside.getElementById("query");
  query.value = "%s";
  query.dispatchEvent(new Event("input"));
  setTimeout(() => {
    told.found = inside.getElementById("found").textContent;
    told.left = inside.querySelectorAll("details.node:not([hidden])").length;
    document.getElementById("told").textContent = JSON.stringify(told);
  }, 400);
});
</script>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def look(tmp_path):
    """Show a merge in the browser; return what it looks like, and what the browser complains of."""
    serving = functools.partial(Quiet, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serving)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def show(cluster, *more, search="bind hung", options=()):
        with (tmp_path / "page.html").open("wb") as file:
            write(file, cluster, *(more or (pages.sections(), pages.causes())))
        around = tmp_path / "around.html"
        around.write_text(AROUND % (WIDTH, WIDTH, search))
        return _shown(f"http://127.0.0.1:{server.server_port}/around.html", tmp_path, options)

    yield show
    server.shutdown()
    server.server_close()


def _shown(url, home, options):
    argv = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--user-data-dir={home / 'profile'}", "--enable-logging=stderr", "--hide-scrollbars",
        f"--window-size={WIDTH},1000", "--virtual-time-budget=20000", *options, "--dump-dom", url,
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
    (told,) = re.findall(r'<pre id="told">(.*)</pre>', done.stdout)
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(html.unescape(told)), complaints


@pytest.mark.parametrize("nodes", [3, 300, 2_000])
def test_a_page_of_any_size_is_whole_and_within_its_width(look, nodes):
    told, complaints = look(pages.many(nodes))

    assert complaints == []
    assert (told["shut"], told["open"], told["width"]) == ([], [], WIDTH)
    assert told["images"] == 0
    assert told["verdict"].startswith("✕ FAIL")


def test_what_is_searched_for_is_found(look):
    cluster = pages.many(300)
    hung = sum("gpu1: bind hung" in row.reasons for row in cluster.rows)

    told, _ = look(cluster)

    assert told["left"] == hung
    assert told["found"] == f"{hung} shown in full, 0 nodes of this name"


def test_hostile_names_do_nothing_in_a_browser(look):
    text = "".join(pages.HOSTILE)
    told, complaints = look(pages.hostile(), pages.sections(text), pages.causes(text))

    assert complaints == []
    assert told["title"] == f"FAIL: node smoke test, run {pages.RUN}"
    assert (told["shut"], told["open"], told["width"], told["scripts"]) == ([], [], WIDTH, 2)
    assert told["details"] == len(pages.HOSTILE)


@pytest.mark.parametrize(("scheme", "colour"), [(0, "rgb(15, 20, 25)"), (1, "rgb(255, 255, 255)")])
def test_a_page_is_dark_where_the_screen_is(look, scheme, colour):
    options = [f"--blink-settings=preferredColorScheme={scheme}"]
    told, _ = look(pages.many(3), options=options)

    assert told["dark"] == colour
