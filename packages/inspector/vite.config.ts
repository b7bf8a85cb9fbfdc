import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { precompressed } from "./build/precompressed.ts";

export default defineConfig({
  root: import.meta.dirname,
  // The server has it there, and links into it start there.
  base: "/ui/",
  plugins: [react(), tailwindcss(), precompressed()],
  build: {
    target: "es2023",
    outDir: "dist",
    emptyOutDir: true,
    // The page may load nothing but files of its own: a picture inside a stylesheet would be refused.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
