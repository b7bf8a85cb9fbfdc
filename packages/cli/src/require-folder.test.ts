import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { requireFolder } from "./require-folder.ts";

it("lets work begin in a folder that is there, and nowhere else", async () => {
  await expect(requireFolder(tmpdir(), "--cwd")).resolves.toBeUndefined();
  await expect(requireFolder(join(tmpdir(), "no", "such"), "--cwd")).rejects.toThrow("--cwd cannot be used");
  await expect(requireFolder(fileURLToPath(import.meta.url), "--cwd")).rejects.toThrow("is no folder");
});
