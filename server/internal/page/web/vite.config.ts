import { defineConfig } from "vite";

const operators = "http://127.0.0.1:6070";

// The addresses are relative, so that the page works below any path. Nothing is inlined, because
// the server's content security policy allows only files.
export default defineConfig({
  base: "./",
  // During development, the page's calls go to a running server.
  server: {
    proxy: { "/admin": { target: operators, changeOrigin: true, headers: { origin: operators } } },
  },
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: { entryFileNames: "assets/[name]-[hash].js", chunkFileNames: "assets/[name]-[hash].js", assetFileNames: "assets/[name]-[hash][extname]" },
    },
  },
});
