import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `WINDLASS_WEB_OUT` is where a build goes instead of dist; `WINDLASS_API` is the server for `npm run dev`.
export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: {
    // rjsf's own tests pull in a validator that makes code at run time, which the page's policy refuses; ours stands in.
    alias: { "@rjsf/validator-ajv8": fileURLToPath(new URL("src/forms/validator.ts", import.meta.url)) },
  },
  build: {
    outDir: process.env["WINDLASS_WEB_OUT"] || "dist",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    manifest: true,
    // Small assets stay files of their own: the page allows none inside its text.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
  },
  server: {
    proxy: { "/api": { target: process.env["WINDLASS_API"] ?? "http://127.0.0.1:4747", changeOrigin: true } },
  },
});
