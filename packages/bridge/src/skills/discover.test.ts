import { execFileSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { chmod, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { addFiles, folderWith, skillText } from "../../test/skills.ts";
import { readBundle } from "./bundle.ts";
import {
  type DiscoveryOptions,
  discoverSkills,
  readSkillText,
  reloadSkill,
  type SkillRoot,
} from "./discover.ts";
import {
  fingerprintOf,
  readTrustedSigners,
  type SkillIdentity,
  signBundle,
  type TrustSettings,
  trustSigner,
} from "./signature.ts";

const TRUST: TrustSettings = { signers: new Map(), grantOf: () => undefined, requireSignatures: false };

function discover(root: SkillRoot, options: Partial<DiscoveryOptions> = {}) {
  return discoverSkills([root], { trust: TRUST, workspace: [], ...options });
}

/** The only skill of a workspace, as it is now. */
async function workspaceSkill(workspace: string, trust: Partial<TrustSettings> = {}) {
  const { skills } = await discover(
    { layer: "project", path: join(workspace, ".claude/skills") },
    { workspace: [workspace], trust: { ...TRUST, ...trust } },
  );
  return skills[0];
}

describe("the skills of a folder", () => {
  it("lie one level below it, under the name that they say or that of their folder", async () => {
    const path = await folderWith({
      "pdf/SKILL.md": skillText("pdf"),
      "other/SKILL.md": "---\ndescription: Without a name\n---\n",
      "deep/er/SKILL.md": skillText("deep"),
      "empty/readme.md": "",
      "note.md": "",
    });
    const { skills, warnings } = await discover({ layer: "user", path, namespace: "acme" });
    expect(skills).toMatchObject([
      { id: "acme/other", name: "other", namespace: "acme", description: "Without a name" },
      { id: "acme/pdf", name: "pdf", layer: "user", origin: join(path, "pdf") },
    ]);
    expect(skills[0]?.trust).toEqual({ status: "trusted", by: "operator" });
    expect(warnings).toEqual([]);
  });

  it("are one, where the folder itself is a skill", async () => {
    const path = await folderWith({ "SKILL.md": skillText("one"), "sub/SKILL.md": skillText("two") });
    const { skills } = await discover({ layer: "cli", path });
    expect(skills.map(({ id }) => id)).toEqual(["one"]);
  });

  it("are none, where there is no folder", async () => {
    expect(await discover({ layer: "system", path: "/nonexistent/skills" })).toEqual({
      skills: [],
      warnings: [],
    });
    const path = await folderWith({ file: "" });
    expect(await discover({ layer: "cli", path: join(path, "file") })).toEqual({ skills: [], warnings: [] });
  });

  it.each([
    ["a name with a path", skillText("../../etc")],
    ["a name with hidden characters", '---\nname: "a\\u202Eb/"\ndescription: x\n---\n'],
    ["a long name", skillText("x".repeat(300))],
    ["no description", "---\nname: a\n---\n"],
    ["tools that are malformed", skillText("a", "b", "allowed_tools: [1]\n")],
    ["more than a skill may hold", skillText("a", "b", `# ${"x".repeat(300_000)}\n`)],
  ])("without one that has %s, which is reported", async (_, text) => {
    const path = await folderWith({ "bad/SKILL.md": text, "good/SKILL.md": skillText("good") });
    const { skills, warnings } = await discover({ layer: "user", path });
    expect(skills.map(({ id }) => id)).toEqual(["good"]);
    expect(warnings.map(({ source }) => source)).toContain(join(path, "bad"));
  });

  it("do not come from links that leave the folder, nor from pipes", async () => {
    const outside = await folderWith({ "evil/SKILL.md": skillText("evil"), "SKILL.md": skillText("evil") });
    const path = await folderWith({ "good/SKILL.md": skillText("good"), "linked/x": "", "pipe/x": "" });
    await symlink(join(outside, "evil"), join(path, "evil"));
    await symlink(join(outside, "SKILL.md"), join(path, "linked/SKILL.md"));
    await symlink("good", join(path, "alias"));
    execFileSync("mkfifo", [join(path, "pipe/SKILL.md")]);
    const { skills, warnings } = await discover({ layer: "user", path });
    expect(new Set(skills.map(({ id }) => id))).toEqual(new Set(["good"]));
    expect(warnings.map(({ source }) => source)).toEqual([join(path, "evil"), join(path, "pipe")]);
  });

  it("are at most a thousand", async () => {
    const files = Array.from(
      { length: 1_010 },
      (_, index) => [`s${index}/SKILL.md`, skillText(`s${index}`)] as const,
    );
    const path = await folderWith(Object.fromEntries(files));
    const { skills, warnings } = await discover({ layer: "user", path });
    expect(skills.length).toBeLessThanOrEqual(1_000);
    expect(warnings[0]?.message).toContain("more than 1000");
  });
});

describe("a workspace with too many skills", () => {
  it("takes none of the operator's away, and is read and reported within bounds", async () => {
    const odd = Array.from({ length: 20 }, (_, index) => `odd${index}: 1\n`).join("");
    const files = Array.from(
      { length: 1_001 },
      (_, index) => [`a/s${index}/SKILL.md`, skillText(`s${index}`, "x", odd)] as const,
    );
    const workspace = await folderWith({ ...Object.fromEntries(files), "b/one/SKILL.md": skillText("one") });
    const roots = [
      { layer: "project", path: join(workspace, "a") },
      { layer: "cli", path: join(workspace, "b") },
      { layer: "user", path: await folderWith({ "own/SKILL.md": skillText("own") }) },
    ] as const;
    const { skills, warnings } = await discoverSkills(roots, { trust: TRUST, workspace: [workspace] });
    expect(skills.at(-1)).toMatchObject({ id: "own", trust: { by: "operator" } });
    expect(skills.map(({ id }) => id)).not.toContain("one");
    expect(warnings).toHaveLength(200);
  });
});

describe("a skill of a workspace", () => {
  const workspaceWith = (files: Readonly<Record<string, string>> = {}) =>
    folderWith({
      ".claude/skills/ship/SKILL.md": skillText("ship"),
      ".claude/skills/ship/scripts/run.sh": "echo",
      ...files,
    });
  const UNTRUSTED = { status: "untrusted", reason: expect.any(String) };

  it("is untrusted, whichever layer names its folder", async () => {
    const workspace = await workspaceWith();
    const path = join(workspace, ".claude/skills");
    for (const layer of ["project", "package", "env", "cli", "manifest", "user", "system"] as const) {
      const { skills } = await discover({ layer, path }, { workspace: [workspace] });
      expect(skills.map(({ trust }) => trust)).toEqual([UNTRUSTED]);
    }
  });

  it("is trusted by a grant of exactly its content; any change ends that", async () => {
    const workspace = await workspaceWith();
    const before = await workspaceSkill(workspace);
    const grantOf = ({ digest }: SkillIdentity) => (digest === before?.digest ? "ann" : undefined);
    const trust = async () => (await workspaceSkill(workspace, { grantOf }))?.trust;
    const folder = join(workspace, ".claude/skills/ship");
    expect(await trust()).toEqual({ status: "trusted", by: "grant", who: "ann" });
    await addFiles(folder, { "scripts/more.sh": "rm" });
    expect(await trust()).toEqual(UNTRUSTED);
    await rm(join(folder, "scripts/more.sh"));
    expect(await trust()).toMatchObject({ by: "grant" });
    await chmod(join(folder, "scripts/run.sh"), 0o755);
    expect(await trust()).toEqual(UNTRUSTED);
    await chmod(join(folder, "scripts/run.sh"), 0o644);
    await writeFile(join(folder, "scripts/run.sh"), "rm");
    expect(await trust()).toEqual(UNTRUSTED);
    await writeFile(join(folder, "scripts/run.sh"), "echo");
    await rm(join(folder, "scripts/run.sh"));
    await addFiles(folder, { "scripts/ran.sh": "echo" });
    expect(await trust()).toEqual(UNTRUSTED);
  });

  const moves = [
    ["another folder gives it another name", "deploy", "deploy", "project", undefined],
    ["another layer has it", "ship", "ship", "package", undefined],
    ["a namespace is put before it", "ship", "acme/ship", "project", "acme"],
  ] as const;
  it.each(moves)(
    "is not trusted by a grant of its content when %s",
    async (_, folder, id, layer, namespace) => {
      const nameless = "---\ndescription: Ships\n---\n";
      const workspace = await folderWith({ ".claude/skills/ship/SKILL.md": nameless });
      const path = join(workspace, ".claude/skills");
      const before = await workspaceSkill(workspace);
      const granted: SkillIdentity = { id: "ship", layer: "project", digest: before?.digest ?? "" };
      const grantOf = (asked: SkillIdentity) => (isDeepStrictEqual(asked, granted) ? "ann" : undefined);
      expect((await workspaceSkill(workspace, { grantOf }))?.trust).toMatchObject({ by: "grant" });
      if (folder !== "ship") await rename(join(path, "ship"), join(path, folder));
      const { skills } = await discover(
        { layer, path, ...(namespace && { namespace }) },
        { workspace: [workspace], trust: { ...TRUST, grantOf } },
      );
      expect(skills).toMatchObject([{ id, digest: granted.digest, trust: UNTRUSTED }]);
    },
  );

  it("cannot be trusted while it holds what its manifest does not cover", async () => {
    const workspace = await workspaceWith();
    await symlink("/etc/passwd", join(workspace, ".claude/skills/ship/data"));
    const skill = await workspaceSkill(workspace, { grantOf: () => "ann" });
    expect(skill?.trust).toEqual({ status: "untrusted", reason: expect.stringContaining("data is a link") });
  });

  it("is not found through a folder that is a link out of the workspace", async () => {
    const outside = await folderWith({ "ship/SKILL.md": skillText("ship") });
    const workspace = await folderWith({ ".agents/x": "", "kept/ship/SKILL.md": skillText("ship") });
    const path = join(workspace, ".agents/skills");
    await symlink(outside, path);
    const away = await discover({ layer: "project", path }, { workspace: [workspace] });
    expect(away).toEqual({
      skills: [],
      warnings: [{ source: path, message: "it is a link that leaves the workspace" }],
    });
    await rm(path);
    await symlink("../kept", path);
    const within = await discover({ layer: "project", path }, { workspace: [workspace] });
    expect(within.skills.map(({ id }) => id)).toEqual(["ship"]);
  });
});

describe("a file of a skill", () => {
  const trust: TrustSettings = { ...TRUST, grantOf: () => "ann" };
  async function opened() {
    const workspace = await folderWith({
      ".claude/skills/ship/SKILL.md": skillText("ship"),
      ".claude/skills/ship/references/api.md": "Call it.",
      ".claude/skills/ship/logo.png": "\u0089PNG",
      ".claude/skills/other/SKILL.md": skillText("other"),
      ".env": "SECRET=1",
    });
    const folder = join(workspace, ".claude/skills/ship");
    await writeFile(join(folder, "logo.png"), Buffer.from([0x89, 0x50, 0xff, 0x00]));
    await writeFile(join(folder, "long.md"), "x".repeat(300_000));
    const options = { trust, workspace: [workspace] };
    const { skills } = await discover({ layer: "project", path: join(workspace, ".claude/skills") }, options);
    const skill = skills.find(({ id }) => id === "ship") ?? expect.unreachable();
    return { folder, options, skill, read: (path: string) => readSkillText(skill, path, options) };
  }

  it("is read as text while the skill is trusted, and listed with its instructions", async () => {
    const { folder, skill, options, read } = await opened();
    expect(await read("references/api.md")).toBe("Call it.");
    expect((await reloadSkill(skill, options)).files).toEqual(["logo.png", "long.md", "references/api.md"]);
    const untrusted = { ...options, trust: TRUST };
    await expect(readSkillText(skill, "references/api.md", untrusted)).rejects.toThrow("may not be used");
    await rm(folder, { recursive: true });
    await expect(read("references/api.md")).rejects.toThrow("no longer there");
  });

  it.each([
    "../other/SKILL.md",
    "references/../../other/SKILL.md",
    "../../../.env",
    "/etc/passwd",
    "./references/api.md",
    "references//api.md",
    "references",
    "",
    "references/api.md\u0000",
    "SKILL.sig.json",
    "__proto__",
  ])("is none that its hashes do not name: %j", async (path) => {
    const { read } = await opened();
    await expect(read(path)).rejects.toThrow("has no file");
  });

  it("is text of a bounded length", async () => {
    const { read } = await opened();
    await expect(read("logo.png")).rejects.toThrow("is no text");
    await expect(read("long.md")).rejects.toThrow("larger than 262144 bytes");
  });

  it("is no link, and no file of a folder with one", async () => {
    const { folder, read } = await opened();
    await symlink("/etc/passwd", join(folder, "link.md"));
    await expect(read("link.md")).rejects.toThrow("cannot be trusted as a whole");
    await expect(read("references/api.md")).rejects.toThrow("cannot be trusted as a whole");
  });
});

describe("a signed skill", () => {
  const keys = () => generateKeyPairSync("ed25519").privateKey;
  async function signed(key: KeyObject, text = skillText("ship")) {
    const workspace = await folderWith({
      ".claude/skills/ship/SKILL.md": text,
      ".claude/skills/ship/run.sh": "a",
    });
    const folder = join(workspace, ".claude/skills/ship");
    await signBundle(await readBundle(folder), "ship", key);
    return { workspace, folder };
  }
  async function signersOf(...trusted: readonly KeyObject[]) {
    const folder = await folderWith({});
    for (const key of trusted) await trustSigner(folder, key);
    return readTrustedSigners(folder);
  }

  it("is trusted as a whole, for a trusted signer, until any file changes", async () => {
    const key = keys();
    const { workspace, folder } = await signed(key);
    const signers = await signersOf(key);
    const trust = async () => (await workspaceSkill(workspace, { signers }))?.trust;
    expect(await trust()).toEqual({ status: "trusted", by: "signature", signer: fingerprintOf(key) });
    await writeFile(join(folder, "run.sh"), "b");
    expect(await trust()).toEqual({
      status: "untrusted",
      reason: "its files are not those that were signed",
    });
  });

  it("is not trusted for a signer that is unknown, or that it does not name", async () => {
    const key = keys();
    const { workspace } = await signed(key);
    expect((await workspaceSkill(workspace, { signers: await signersOf(keys()) }))?.trust.status).toBe(
      "untrusted",
    );
    const only = `trusted_signers: ["${"0".repeat(64)}"]\nrequire_signature: true\n`;
    const picky = await signed(key, skillText("ship", "Ships", only));
    const trust = (await workspaceSkill(picky.workspace, { signers: await signersOf(key) }))?.trust;
    expect(trust).toEqual({
      status: "untrusted",
      reason: expect.stringContaining("not one that the skill names"),
    });
  });

  it("is not trusted by a signature that another key made in the signer's name", async () => {
    const [key, thief] = [keys(), keys()];
    const { workspace, folder } = await signed(thief);
    const path = join(folder, "SKILL.sig.json");
    const { default: forged } = await import(path, { with: { type: "json" } });
    await writeFile(path, JSON.stringify({ ...forged, signer: fingerprintOf(key) }));
    const trust = (await workspaceSkill(workspace, { signers: await signersOf(key) }))?.trust;
    expect(trust).toEqual({ status: "untrusted", reason: "the signature is not that of its signer" });
  });

  it("of the operator is worse off with a broken signature than with none", async () => {
    const { folder } = await signed(keys());
    await writeFile(join(folder, "run.sh"), "b");
    const { skills } = await discover({ layer: "user", path: folder });
    expect(skills[0]?.trust.status).toBe("untrusted");
    await writeFile(join(folder, "SKILL.sig.json"), "{");
    expect((await discover({ layer: "user", path: folder })).skills[0]?.trust.status).toBe("untrusted");
    await rm(join(folder, "SKILL.sig.json"));
    expect((await discover({ layer: "user", path: folder })).skills[0]?.trust.status).toBe("trusted");
  });

  it("is needed where the skill or the operator says so, also of the operator's own", async () => {
    const path = await folderWith({ "SKILL.md": skillText("a", "b", "require_signature: true\n") });
    expect((await discover({ layer: "user", path })).skills[0]?.trust.status).toBe("untrusted");
    const plain = await folderWith({ "SKILL.md": skillText("a") });
    const trust = { ...TRUST, requireSignatures: true, grantOf: () => "ann" };
    expect((await discover({ layer: "user", path: plain }, { trust })).skills[0]?.trust.status).toBe(
      "untrusted",
    );
  });

  it("counts only keys that lie under their own fingerprint", async () => {
    const key = keys();
    const folder = await folderWith({ "x.pub": "junk" });
    await trustSigner(folder, key);
    const pem = key.export({ type: "pkcs8", format: "pem" }).toString();
    await addFiles(folder, { [`${"a".repeat(64)}.pub`]: pem, "notes.txt": pem });
    expect([...(await readTrustedSigners(folder)).keys()]).toEqual([fingerprintOf(key)]);
  });

  it("cannot be signed while its manifest does not cover it", async () => {
    const { folder } = await signed(keys());
    await symlink("SKILL.md", join(folder, "link"));
    await expect(signBundle(await readBundle(folder), "ship", keys())).rejects.toThrow(
      "cannot be signed as a whole",
    );
  });
});
