import { readFileSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteReader } from "@reins/store";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Mailbox, type MailboxOptions, releaseInterruptedMail } from "../src/mail/mailbox.ts";
import { mailTables } from "../src/mail/tables.ts";
import { type MailHome, openMailHome, subjectOf } from "../test/mail-home.ts";

let home: string;
let opened: MailHome;
let tenants = 0;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "reins-mail-"));
  opened = await openMailHome(home);
});
afterAll(async () => {
  await opened.close();
  await rm(home, { recursive: true, force: true });
});

/** Opens a mailbox for one test in the shared home. */
async function newMailbox(options: Partial<MailboxOptions> = {}) {
  tenants += 1;
  const tenant = `tenant-${tenants}`;
  const folder = join(home, "tenants", tenant);
  await mkdir(folder, { recursive: true });
  const { store, ledger } = opened;
  const another = (difference: Partial<MailboxOptions> = {}) =>
    new Mailbox({ home, tenant, store, ...options, ...difference });
  return {
    store,
    ledger,
    another,
    mailbox: another(),
    path: join(folder, "agent-mailbox.jsonl"),
    coder: subjectOf("coder", { tenant, session: "s1", session_key: "coder:cli:local" }),
    async entries() {
      const placed = await ledger.read({ limit: 1_000 });
      return placed.map(({ entry }) => entry).filter(({ entity_id }) => entity_id.startsWith(`${tenant}/`));
    },
  };
}

const LETTER = { from: "reed", to: "coder", subject: "hello", body: "how are you?" };

function numbered(count: number) {
  return Array.from({ length: count }, (_, number) => ({ ...LETTER, body: `${number}` }));
}

describe("send_message and read_mailbox", () => {
  test("a sent message is unread for its receiver only", async () => {
    const { mailbox } = await newMailbox();
    await mailbox.send(LETTER);
    expect(await mailbox.unreadFor("coder")).toMatchObject([{ ...LETTER, to: ["coder"] }]);
    expect(await mailbox.unreadFor("reed")).toEqual([]);
    expect(await mailbox.unreadFor("cod")).toEqual([]);
  });

  test("reading unread messages does not mark them", async () => {
    const { mailbox } = await newMailbox();
    await mailbox.send(LETTER);
    await mailbox.unreadFor("coder");
    expect(await mailbox.unreadFor("coder")).toHaveLength(1);
  });

  test("a read mark is durable and per agent", async () => {
    const { mailbox, store, path, another } = await newMailbox();
    writeFileSync(path, `${JSON.stringify({ to: ["coder", "reed"], body: "both" })}\n`);
    const [message] = await mailbox.unreadFor("coder");
    for (const _ of ["once", "and again"]) await store.commit([mailbox.markRead("coder", [message!.id])]);
    expect(await mailbox.unreadFor("coder")).toEqual([]);
    expect(await mailbox.unreadFor("reed")).toHaveLength(1);
    expect(await another().unreadFor("coder")).toEqual([]);
  });

  test("a line with read: true is not unread", async () => {
    const { mailbox, path } = await newMailbox();
    writeFileSync(path, `${JSON.stringify({ ...LETTER, read: true })}\n${JSON.stringify(LETTER)}\n`);
    expect(await mailbox.unreadFor("coder")).toHaveLength(1);
  });

  test("another process sees unread messages while this one writes", async () => {
    const { mailbox, ledger, coder, another } = await newMailbox({ limits: { perTurn: 1 } });
    for (const letter of numbered(2)) await mailbox.send(letter);
    await (await mailbox.injectUnread(coder, ledger)).settle({ delivered: true });
    const store = await openSqliteReader(join(home, "reins.db"), [mailTables]);
    onTestFinished(() => store.close());
    const commit = () => Promise.reject(new Error("a reader commits nothing"));
    const reader = another({ store: { query: store.query.bind(store), commit } });
    expect(await reader.unreadFor("coder")).toMatchObject([{ body: "1" }]);
  });

  test("each tenant has its own mailbox", async () => {
    const [ours, theirs] = [await newMailbox(), await newMailbox()];
    for (const { path } of [ours, theirs]) writeFileSync(path, `${JSON.stringify(LETTER)}\n`);
    await (await ours.mailbox.injectUnread(ours.coder, ours.ledger)).settle({ delivered: true });
    expect(await ours.mailbox.unreadFor("coder")).toEqual([]);
    expect(await theirs.mailbox.unreadFor("coder")).toHaveLength(1);
  });
});

describe("mail in a turn", () => {
  test("has one ledger entry per message, and is read once the turn has delivered it", async () => {
    const { mailbox, ledger, coder, entries } = await newMailbox();
    await mailbox.send(LETTER);
    await mailbox.send({ ...LETTER, subject: "again" });
    const { messages, entries: cids, waiting, settle } = await mailbox.injectUnread(coder, ledger);
    const { to: _, ...shown } = LETTER;
    expect(messages).toMatchObject([shown, { ...shown, subject: "again" }]);
    expect(waiting).toBe(0);
    const recorded = await entries();
    expect(recorded.map(({ cid }) => cid)).toEqual(cids);
    const common = { quality: "mailbox_inject", actor: "coder", target: "s1" };
    expect(recorded).toMatchObject([
      { ...common, payload: { ...LETTER, message: messages[0]!.id, omitted: 0 } },
      { ...common, payload: { ...LETTER, message: messages[1]!.id, subject: "again" } },
    ]);
    expect(recorded[0]!.entity_id).toMatch(/\/coder:cli:local$/);
    expect(await mailbox.unreadFor("coder")).toHaveLength(2);
    const none = { messages: [], entries: [], waiting: 0, faults: [] };
    expect(await mailbox.injectUnread(coder, ledger)).toMatchObject(none);
    await settle({ delivered: true });
    expect(await mailbox.unreadFor("coder")).toEqual([]);
    expect(await mailbox.injectUnread(coder, ledger)).toMatchObject(none);
  });

  test("goes into the next turn if the first one fails", async () => {
    const { mailbox, ledger, coder, entries } = await newMailbox();
    await mailbox.send(LETTER);
    const failed = await mailbox.injectUnread(coder, ledger);
    await failed.settle({ delivered: false });
    const { messages, settle } = await mailbox.injectUnread(coder, ledger);
    expect(messages).toEqual(failed.messages);
    await settle({ delivered: true });
    expect(await mailbox.unreadFor("coder")).toEqual([]);
    expect(await entries()).toHaveLength(2);
  });

  test("is unread again after a stop during the turn", async () => {
    const { mailbox, ledger, coder, store } = await newMailbox();
    await mailbox.send(LETTER);
    await mailbox.send({ ...LETTER, subject: "delivered" });
    const read = (await mailbox.unreadFor("coder")).filter(({ subject }) => subject === "delivered");
    await store.commit([mailbox.markRead("coder", [read[0]!.id])]);
    expect((await mailbox.injectUnread(coder, ledger)).messages).toHaveLength(1);
    await store.commit([releaseInterruptedMail]);
    expect(await mailbox.injectUnread(coder, ledger)).toMatchObject({
      messages: [{ subject: LETTER.subject }],
    });
  });

  test("is limited per turn; the rest stays unread", async () => {
    const { mailbox, ledger, coder } = await newMailbox({ limits: { perTurn: 2 } });
    for (const letter of numbered(5)) await mailbox.send(letter);
    const turns = [];
    for (const _ of [1, 2, 3]) turns.push(await mailbox.injectUnread(coder, ledger));
    const bodies = turns.map(({ messages }) => messages.map(({ body }) => body));
    expect(bodies).toEqual([["0", "1"], ["2", "3"], ["4"]]);
    expect(turns.map(({ waiting }) => waiting)).toEqual([3, 1, 0]);
  });

  test("leaves the file unchanged, byte for byte", async () => {
    const { mailbox, ledger, coder, path } = await newMailbox();
    writeFileSync(path, '{ "to" : "coder" ,"x":{"y":1}}\nrubbish\n{"to":"coder","body":"last"}');
    const before = readFileSync(path);
    expect((await mailbox.injectUnread(coder, ledger)).messages).toHaveLength(2);
    expect(readFileSync(path)).toEqual(before);
  });

  test("is recorded without its secrets and injected with them", async () => {
    const { mailbox, ledger, coder, entries } = await newMailbox();
    const secret = `ghp_${"a1B2".repeat(9)}`;
    await mailbox.send({ ...LETTER, subject: `key ${secret}`, body: `use ${secret}` });
    const { messages } = await mailbox.injectUnread(coder, ledger);
    expect(messages).toMatchObject([{ body: `use ${secret}` }]);
    expect(JSON.stringify(await entries())).not.toContain(secret);
    expect(await entries()).toMatchObject([{ payload: { body: "use ghp_[redacted]" } }]);
  });

  test("may hold characters that the ledger rejects", async () => {
    const { mailbox, ledger, coder, path, entries } = await newMailbox();
    const deep = `${"[".repeat(200)}${"]".repeat(200)}`;
    writeFileSync(path, `{"to":"coder","from":"\\ud800","body":"half \\udc00","deep":${deep}}\n`);
    expect((await mailbox.injectUnread(coder, ledger)).messages).toHaveLength(1);
    expect(await entries()).toHaveLength(1);
  });

  test("goes to one of many concurrent turns, each message once", async () => {
    const { mailbox, ledger, coder, entries } = await newMailbox({ limits: { perTurn: 1 } });
    for (const letter of numbered(30)) await mailbox.send(letter);
    const subjects = Array.from({ length: 40 }, (_, turn) => ({ ...coder, session: `s${turn}` }));
    const turns = await Promise.all(subjects.map((subject) => mailbox.injectUnread(subject, ledger)));
    const bodies = turns.flatMap(({ messages }) => messages.map(({ body }) => Number(body)));
    expect(bodies.toSorted((left, right) => left - right)).toEqual([...Array(30).keys()]);
    expect(await entries()).toHaveLength(30);
  });

  test("goes to one of several mailbox objects, each message once", async () => {
    const { mailbox, ledger, coder, another, entries } = await newMailbox({ limits: { perTurn: 4 } });
    for (const letter of numbered(12)) await mailbox.send(letter);
    const strangers = [another(), another(), another(), another()];
    const turns = await Promise.all(strangers.map((stranger) => stranger.injectUnread(coder, ledger)));
    const sizes = turns.map(({ messages }) => messages.length);
    expect(sizes.toSorted()).toEqual([0, 4, 4, 4]);
    expect(new Set(turns.flatMap(({ messages }) => messages.map(({ body }) => body))).size).toBe(12);
    expect(await entries()).toHaveLength(12);
  });

  test("stays unread if it cannot be recorded", async () => {
    const { mailbox, coder } = await newMailbox();
    await mailbox.send(LETTER);
    const broken = { record: () => Promise.reject(new Error("the disk is full")) };
    await expect(mailbox.injectUnread(coder, broken)).rejects.toThrow("the disk is full");
    expect(await mailbox.unreadFor("coder")).toHaveLength(1);
  });

  test("has a text with an unpredictable mark", async () => {
    const { mailbox, ledger, coder } = await newMailbox();
    expect((await mailbox.injectUnread(coder, ledger)).text).toBeUndefined();
    const marks = [];
    for (const body of ["one", "two"]) {
      await mailbox.send({ ...LETTER, body });
      const { text } = await mailbox.injectUnread(coder, ledger);
      expect(text).toContain(`> ${body}`);
      marks.push(/^([0-9a-f]{32}) message 1$/m.exec(text ?? "")?.[1]);
    }
    expect(marks).not.toContain(undefined);
    expect(marks[0]).not.toBe(marks[1]);
  });

  test("is absent, with the fault, if the file is invalid", async () => {
    const { mailbox, ledger, coder, path } = await newMailbox();
    writeFileSync(path, "rubbish\n");
    expect(await mailbox.injectUnread(coder, ledger)).toMatchObject({
      text: undefined,
      faults: ['a line that is no message: "rubbish"'],
    });
    await rm(path);
    await mkdir(path);
    expect((await mailbox.injectUnread(coder, ledger)).faults).toEqual([
      expect.stringContaining("agent-mailbox.jsonl has to be a plain file"),
    ]);
  });

  test("is found among thousands of messages", async () => {
    const { mailbox, ledger, coder, path, another } = await newMailbox();
    const lines = numbered(10_000).map((letter, number) =>
      JSON.stringify({ ...letter, read: number >= 2_500 }),
    );
    writeFileSync(path, `${lines.join("\n")}\n`);
    const { messages, waiting, settle } = await mailbox.injectUnread(coder, ledger);
    await settle({ delivered: true });
    expect(messages[0]?.body).toBe("0");
    expect(waiting).toBe(2_500 - messages.length);
    expect(await another().unreadFor("coder")).toHaveLength(waiting);
  });
});
