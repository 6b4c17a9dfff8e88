// The site is built from the pages of docs/, as they are: tools/scripts/site runs it.
// Environment: FOLDER is the folder of this version, BASE the path above it, SHOWN the version to show, OUT the output.
import { cpSync, existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { defineConfig } from "vitepress";
import { sidebar } from "./sidebar.mjs";

const { BASE = "/", FOLDER = "main", SHOWN = "main", OUT = "../../bin/site/main" } = process.env;
const root = resolve(import.meta.dirname, "../../..");
const docs = join(root, "docs");
const repository = "https://github.com/headgate/headgate";

/** slugify makes the anchors that GitHub makes, so that a link works there and here. */
const slugify = (heading) =>
  heading.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replaceAll(" ", "-");

/** target returns the address on the site for a link of a page: files outside of docs/ are in the repository. */
function target(page, href) {
  if (/^(https?:|mailto:|#)/.test(href)) return href;
  const [path, anchor] = href.split("#");
  const file = resolve(docs, dirname(page), path);
  if (!existsSync(file)) throw new Error(`${page}: ${href} does not exist`);
  const hash = anchor ? "#" + anchor : "";
  if (relative(docs, file).startsWith("..")) return `${repository}/blob/${FOLDER}/${relative(root, file)}${hash}`;
  return file === join(docs, "README.md") ? "/" + hash : href;
}

/** links is a plugin of markdown-it. */
function links(md) {
  md.core.ruler.push("links", (state) => {
    for (const token of state.tokens.flatMap((t) => t.children ?? []))
      if (token.type === "link_open") token.attrSet("href", target(state.env.relativePath, token.attrGet("href")));
  });
}

/** searched renders a page for the search index, which has no pages for contributors. */
function searched(text, env, md) {
  const html = md.render(text, env);
  return env.relativePath.startsWith("design/") ? "" : html;
}

export default defineConfig({
  title: "Headgate",
  description: "A rate limiter: a Go library, a server and a gateway",
  lang: "en",
  base: `${BASE}${FOLDER}/`,
  head: [["link", { rel: "icon", href: "data:," }]], // no request for an icon
  srcDir: docs,
  outDir: OUT,
  rewrites: { "README.md": "index.md" },
  // The pages import vue, and have no node_modules above them.
  vite: {
    resolve: { alias: { vue: join(root, "tools/site/node_modules/vue") } },
    build: { chunkSizeWarningLimit: 1000 },
  },
  markdown: { anchor: { slugify }, config: links },
  themeConfig: {
    sidebar: sidebar(docs),
    outline: { level: [2, 3] },
    search: { provider: "local", options: { _render: searched } },
    version: SHOWN,
    socialLinks: [{ icon: "github", link: repository }],
  },
  // Pages link to these files as they are, so they keep their names. The build names images by their content.
  buildEnd: ({ outDir }) =>
    cpSync(docs, outDir, { recursive: true, filter: (f) => !f.endsWith(".md") && f !== join(docs, "images") }),
});
