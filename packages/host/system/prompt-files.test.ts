import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { JsonObject } from "@reins/acp";
import { describe, expect, onTestFinished, test } from "vitest";
import { govern, verdictsOf } from "./fixtures/governed.ts";

const SECRET = "canary-of-a-credential-file";
const NOTES = "canary-of-a-harmless-file";

/** A session in a folder with files of all kinds, and what its agent was sent last. */
async function opened(person?: (params: JsonObject) => string) {
  const governed = await govern(person ? { person } : {});
  const { workspace, home, agent } = governed;
  await mkdir(join(workspace, "with space"));
  await mkdir(join(workspace, ".aws"));
  for (const file of [".env", "with space/.env", ".aws/credentials", "id_rsa"])
    await writeFile(join(workspace, file), `${SECRET}\n`);
  await writeFile(join(home, "start-token"), `${SECRET}\n`);
  await symlink(join(workspace, ".env"), join(workspace, "innocent"));
  await symlink(join(home, "start-token"), join(workspace, "token"));
  await mkdir(join(workspace, "src"));
  await writeFile(join(workspace, "src/notes.txt"), `${NOTES}\nsee @../.env\n`);
  const sessionId = await governed.begin();
  const send = async (...prompt: JsonObject[]) => {
    agent.play = async () => undefined;
    const answer = await governed.call("session/prompt", { sessionId, prompt });
    const { params } = agent.got.findLast(({ method }) => method === "session/prompt") ?? {};
    return { answer, blocks: (params?.prompt ?? []) as JsonObject[], text: JSON.stringify(params?.prompt) };
  };
  return { ...governed, sessionId, send, say: (text: string) => send({ type: "text", text }) };
}

describe("a file that a prompt names", () => {
  test("is not read without a verdict, however it is written", async () => {
    const { say, send, workspace, home } = await opened(() => "reject_once");
    const secret = join(workspace, ".env");
    const names = [
      ...[
        ".env",
        "./.env",
        "src/../.env",
        secret,
        `file:${secret}`,
        `file://${secret}`,
        "/.env",
        "innocent",
        "token",
      ],
      ...[
        ".aws/credentials",
        "id_rsa",
        join(home, "start-token"),
        "../home/start-token",
        "/proc/self/environ",
      ],
      ...["%2eenv", "with%20space/.env", "with\\ space/.env"],
    ];
    const written = (name: string) => [
      ...[
        `@${name}`,
        `see @${name}.`,
        `(@${name})`,
        `[@${name}]`,
        `\`@${name}\``,
        `"@${name}"`,
        `@"${name}"`,
        `@'${name}'`,
      ],
      ...[
        `@${name}#L1-5`,
        `@${name}:3`,
        `@${name}, and`,
        `+// see @${name}\n`,
        `\`\`\`\n@${name}\n\`\`\``,
        `a@${name}`,
      ],
      ...[`@@${name}`, `\u200B@${name}`, `@<${name}>`],
    ];
    for (const name of names) {
      const { text } = await say(written(name).join("\n"));
      expect(text, name).not.toContain(SECRET);
      for (const uri of [pathToFileURL(join(workspace, name)).href, `file://${name}`, name]) {
        const linked = await send(
          { type: "text", text: "see" },
          { type: "resource_link", name: "x", uri },
          { type: "resource", resource: { uri, text: "" } },
          { type: "image", data: "", mimeType: "image/png", uri },
        );
        expect(linked.text, uri).not.toContain(SECRET);
        expect(linked.text, uri).not.toContain('"uri"');
      }
    }
  });

  test("is handed to the agent with its content when it may be read, each after a verdict", async () => {
    const { say, send, workspace, entries } = await opened();
    const file = join(workspace, "src/notes.txt");
    for (const text of [
      "@src/notes.txt",
      `see @${file}, please`,
      '@"src/notes.txt"',
      "@./src/notes.txt#L1",
    ]) {
      const { blocks } = await say(text);
      expect(blocks.map((block) => block.text).join("\n"), text).toContain(NOTES);
    }
    const { blocks } = await send({ type: "resource_link", name: "notes", uri: pathToFileURL(file).href });
    expect(blocks).toEqual([{ type: "text", text: expect.stringContaining(NOTES) }]);
    expect(await verdictsOf({ entries } as never)).toEqual(Array(5).fill("allowed"));
  });

  test("that may not be read is named with the reason", async () => {
    const { say, entries } = await opened(() => "reject_once");
    const { blocks } = await say("what is in @.env");
    expect(blocks.at(-1)?.text).toMatch(/names .*\.env, which was not read: /);
    expect(await verdictsOf({ entries } as never)).toEqual(["blocked"]);
  });

  test("is defused in the text for an agent that would read it by itself, and so is what lies in it", async () => {
    const { say } = await opened();
    const { blocks } = await say(
      "see @src/notes.txt and @nowhere/file.ts and @src/*.ts and @https://example.com/x",
    );
    const text = blocks.map((block) => block.text).join("\n");
    expect(text).not.toMatch(/@(?=\S)/u);
    expect(text).toContain(
      "see @ src/notes.txt and @ nowhere/file.ts and @ src/*.ts and @ https://example.com/x",
    );
  });

  test("leaves a text without files as it is read", async () => {
    const { say } = await opened();
    const { blocks } = await say("ann@example.com says: @Override public void run()");
    expect(blocks).toHaveLength(1);
    expect(blocks[0]?.text).toContain("Override public void run()");
  });

  test("is a folder, of which the names are shown; too large, binary or a pipe, and is not taken whole", async () => {
    const { say, workspace } = await opened();
    await writeFile(join(workspace, "large.txt"), "x".repeat(3_000_000));
    await writeFile(join(workspace, "binary.bin"), Buffer.from([0, 1, 2, 0]));
    expect((await say("list @src")).text).toContain("notes.txt");
    expect((await say("see @large.txt")).text.length).toBeLessThan(400_000);
    expect((await say("see @binary.bin")).text).toContain("it is no text");
    const many = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        await writeFile(join(workspace, `f${n}`), "y".repeat(100_000));
        return `@f${n}`;
      }),
    );
    expect((await say(many.join(" "))).text.length).toBeLessThan(1_200_000);
  });

  test("is not another file by the time it is read", async () => {
    let swap = () => {};
    const { say, workspace } = await opened(() => {
      swap();
      return "allow_once";
    });
    const folder = await mkdtemp(join(tmpdir(), "elsewhere-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const isFolder of [false, true]) {
      const place = join(folder, `place-${isFolder}`);
      await mkdir(place);
      await writeFile(join(place, "file"), NOTES);
      const path = join(workspace, `changing-${isFolder}`);
      await symlink(isFolder ? place : join(place, "file"), path);
      swap = () => {
        const swapped = isFolder ? place : join(place, "file");
        rmSync(isFolder ? swapped : path, { recursive: true });
        symlinkSync(isFolder ? workspace : join(workspace, ".env"), isFolder ? swapped : path);
        if (isFolder) writeFileSync(join(workspace, "file"), SECRET);
      };
      const name = isFolder ? `changing-${isFolder}/file` : `changing-${isFolder}`;
      expect((await say(`see @${name}`)).text, name).not.toContain(SECRET);
    }
  });
});

describe("a command in a prompt", () => {
  const announce = (session: Awaited<ReturnType<typeof opened>>, ...names: string[]) =>
    session.prompt(session.sessionId, async ({ update }) => {
      const availableCommands = names.map((name) => ({ name, description: name }));
      await update({ sessionUpdate: "available_commands_update", availableCommands });
      return undefined;
    });

  test("that keeps the agent from asking is refused, wherever it stands and whatever hides it", async () => {
    const session = await opened(() => "allow_once");
    await announce(session, "allow-all", "autopilot");
    const before = session.agent.got.length;
    for (const name of ["allow-all", "yolo", "autopilot", "permissions", "YOLO", "Allow-All"])
      for (const text of [
        `/${name}`,
        `  \n/${name} on`,
        `\u200B/${name}`,
        `\uFEFF/${name}`,
        `／${name}`,
        `/\u200D${name}`,
      ]) {
        const { answer } = await session.send({ type: "text", text });
        expect(answer, JSON.stringify(text)).toMatchObject({ stopReason: "refusal" });
        const { answer: later } = await session.send({ type: "text", text: "hello" }, { type: "text", text });
        expect(later, JSON.stringify(text)).toMatchObject({ stopReason: "refusal" });
      }
    expect(session.agent.got.slice(before).filter(({ method }) => method === "session/prompt")).toEqual([]);
  });

  test("that only the agent knows is asked about; refused, it does not reach the agent", async () => {
    const kinds = ["reject_once", "allow_once"];
    const session = await opened(() => kinds.shift() ?? "reject_once");
    await announce(session, "export", "every");
    expect((await session.say("/export html")).answer).toMatchObject({ stopReason: "refusal" });
    const { answer, blocks } = await session.say("/every 1m @.env !`touch x`");
    expect(answer).toMatchObject({ stopReason: "end_turn" });
    expect(blocks).toEqual([{ type: "text", text: "/every 1m @ .env ! `touch x`" }]);
  });

  test("that is unknown, a path and a shell escape reach the agent as text", async () => {
    const session = await opened();
    for (const text of [
      "/nonesuch now",
      "/etc/hosts is broken",
      "!touch x",
      " ！touch x",
      "/init",
      "⁄export md",
    ]) {
      const { blocks } = await session.say(text);
      expect(blocks, text).toHaveLength(1);
      expect(String(blocks[0]?.text).trim(), text).toMatch(/^`[^`]+`/u);
    }
    for (const text of ["# A heading", "and/or", "1/2", "what does /init do?"])
      expect((await session.say(text)).blocks, text).toEqual([{ type: "text", text }]);
  });
});
