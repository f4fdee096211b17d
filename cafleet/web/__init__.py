"""The web server: a JSON API below `/api`, and the page that uses it.

The page is every file of the folder `cafleet/web/page` that has a known ending (`.html`, `.css`,
`.js`, `.svg`, `.png`, `.ico`, `.woff2`); no folders. `index.html` is served at `/` and at every
path that is nothing else, the others at `/static/<file name>`, so it loads its script with
``<script type="module" src="/static/main.js"></script>`` and its style with
``<link rel="stylesheet" href="/static/style.css">``; modules import each other as ``./other.js``.
Files are read when the server starts, and are sent with an ETag and ``Cache-Control: no-cache``.

The policy of every response allows scripts, styles, images, fonts and connections of this server
alone. Neither inline scripts nor inline styles run: no ``<script>`` or ``<style>`` with content, no
``onclick=`` or ``style=`` attributes; ``element.style.x = …`` from a script is fine. A script may
write no markup (``innerHTML`` and its like are refused by the browser): what is shown is built of
elements and text.

`GET /api/changes` sends ``data: <counter>`` at once and after every change of the database, at
most four times a second. A courier notes its heartbeat there too, so with a monitor running there is
a change every few seconds.
"""
