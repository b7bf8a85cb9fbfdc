import { realpath, stat } from "node:fs/promises";
import { readJson, replaceFileIf, SerialQueue, spelledNumber } from "@reins/kit";
import type { Draft, Ledger } from "@reins/ledger";
import { blake3Hex, RosterEntry } from "@reins/policy";
import { z } from "zod";
import { SupervisorError } from "../errors.ts";
import { AgentName, read } from "../identity/names.ts";
import { actorOf, DEFAULT_TENANT, isAdmin, type Principal } from "../identity/principal.ts";
import { withoutSecrets } from "../record/record.ts";
import type { Redact } from "../redaction/redactor.ts";
import { policyFiles, readIfThere } from "./policy-files.ts";
import type { PolicyKeeper } from "./policy-keeper.ts";

/** What a roster file needs. */
export interface RosterFileOptions {
  readonly home: string;
  readonly ledger: Pick<Ledger, "record">;
  readonly policies: Pick<PolicyKeeper, "refresh">;
  /** Removes secrets from what is recorded; by default those of known formats. */
  readonly redact?: Redact;
}

const LONGEST_LINE = 65_536;
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_ATTEMPTS = 5;

const Word = z.string().min(1).max(64);
/** Its text goes into prompts, so it lies below the home: no other file may come to be read by naming it here. */
const MandatePath = z
  .string()
  .max(512)
  .regex(/^(?!.*(?:^|\/)\.\.?(?:\/|$))[\w.-][\w./ -]*$/, "a path below the home, such as mandates/reed.md")
  .regex(/\.(?:md|markdown|txt)$/i, "a .md or .txt file: nothing else is read as a mandate");

const Written = z.looseObject({
  session_id: AgentName,
  kind: Word.optional(),
  state: Word.optional(),
  mandate: MandatePath.optional(),
});

/** Unlike the others it leaves members in their order. */
const Members = z.record(z.string(), z.unknown());

/** A roster about to be written: its text, and the line that differs. */
interface Rewritten {
  readonly text: string;
  readonly before: RosterEntry | undefined;
  readonly after: RosterEntry;
}

/**
 * Changes `agent-roster.jsonl` a line at a time: the others stay as they are, byte for byte, and so do members of a line
 * that Reins does not know. The change is in the ledger before it counts.
 */
export class RosterFile {
  readonly #options: RosterFileOptions;
  readonly #changes = new SerialQueue();

  constructor(options: RosterFileOptions) {
    this.#options = options;
  }

  /** Puts an agent on the roster. */
  add(given: unknown, by: Principal): Promise<RosterEntry> {
    return this.#change(by, (text) => {
      const after = checked(given);
      if (lastLineOf(text, after.session_id))
        throw new SupervisorError("conflict", `${after.session_id} is on the roster already`);
      const start = text === "" || text.endsWith("\n") ? text : `${text}\n`;
      return { text: `${start}${lineOf(after)}\n`, before: undefined, after };
    });
  }

  /** Changes what is named of an agent and leaves the rest; `null` takes a member out. */
  set(agent: string, change: Readonly<Record<string, unknown>>, by: Principal): Promise<RosterEntry> {
    return this.#change(by, (text) => {
      const found = lastLineOf(text, agent);
      if (!found) throw new SupervisorError("not_found", `${agent} is not on the roster`);
      const members = Object.entries({ ...found.entry, ...change }).filter(([, value]) => value !== null);
      const after = checked(Object.fromEntries(members));
      if (after.session_id !== agent) throw new SupervisorError("invalid", "an agent keeps its id");
      const lines = text.split("\n");
      lines[found.index] = lineOf(after);
      return { text: lines.join("\n"), before: found.entry, after };
    });
  }

  /** One after the other: each begins from what the one before left. */
  #change(by: Principal, rewrite: (text: string) => Rewritten): Promise<RosterEntry> {
    if (!isAdmin(by) || by.tenant !== DEFAULT_TENANT)
      return Promise.reject(
        new SupervisorError(
          "forbidden",
          "all tenants share the roster: it takes an admin of the default one",
        ),
      );
    return this.#changes.run(() => this.#untilAlone(by, rewrite));
  }

  /** Retries on the current content after a concurrent write. */
  async #untilAlone(by: Principal, rewrite: (text: string) => Rewritten): Promise<RosterEntry> {
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
      const path = await this.#path();
      const text = (await readIfThere(path))?.toString("utf8") ?? "";
      const rewritten = rewrite(text);
      if (rewritten.text === text) return rewritten.after;
      if (Buffer.byteLength(rewritten.text) > MOST_BYTES)
        throw new SupervisorError("invalid", "the roster would become too large");
      if (await this.#replace(path, text, rewritten, by)) {
        await this.#options.policies.refresh();
        return rewritten.after;
      }
    }
    throw new SupervisorError("conflict", "the roster keeps changing; try again");
  }

  /** Returns whether the file was still the one that the change was made from. */
  async #replace(path: string, text: string, rewritten: Rewritten, by: Principal): Promise<boolean> {
    const isUnchanged = async () => {
      const roster_hash = blake3Hex(rewritten.text);
      if (!(await isStill(path, text))) return false;
      const { ledger, redact } = this.#options;
      await ledger.record([withoutSecrets(rosterDraft(by, { ...rewritten, roster_hash }), redact)]);
      // Read once more, so that a concurrent write is not lost.
      return isStill(path, text);
    };
    return replaceFileIf(path, rewritten.text, isUnchanged, await modeOf(path));
  }

  /** The file itself, wherever a link leads. */
  async #path(): Promise<string> {
    const { roster } = policyFiles(this.#options.home, DEFAULT_TENANT);
    return realpath(roster).catch(() => roster);
  }
}

/** An entry that may be written, its members in the order in which they came. */
function checked(given: unknown): RosterEntry {
  const { session_id } = read(Written, given);
  return { ...Members.parse(given), session_id };
}

function lineOf(entry: RosterEntry): string {
  const line = JSON.stringify(entry);
  if (line.length <= LONGEST_LINE) return line;
  throw new SupervisorError("invalid", `a line of the roster has at most ${LONGEST_LINE} characters`);
}

/** The line that counts about an agent: the last. */
function lastLineOf(text: string, agent: string): { index: number; entry: RosterEntry } | undefined {
  const lines = text.split("\n").map((line, index) => ({ index, entry: entryIn(line) }));
  for (const { index, entry } of lines.reverse()) if (entry?.session_id === agent) return { index, entry };
  return undefined;
}

function entryIn(line: string): RosterEntry | undefined {
  try {
    // Numbers of unknown members are written back as they were spelled.
    const { value } = readJson(line, spelledNumber);
    return { ...Members.parse(value), session_id: RosterEntry.parse(value).session_id };
  } catch {
    return undefined;
  }
}

async function isStill(path: string, text: string): Promise<boolean> {
  return ((await readIfThere(path))?.toString("utf8") ?? "") === text;
}

/** A new file is for this user only; one that is there stays as open as it is. */
async function modeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch {
    return 0o600;
  }
}

/** A change of the roster, for the record. */
interface RosterChange {
  readonly before: RosterEntry | undefined;
  readonly after: RosterEntry;
  /** Of the whole file as it becomes. */
  readonly roster_hash: string;
}

/** The entry of a change of the roster. Of unknown members only the names are recorded. */
function rosterDraft(by: Principal, { before, after, roster_hash }: RosterChange): Draft {
  const { id, kind, user, tenant, started } = by;
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after)]);
  const members = [...names].filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after[name]));
  return {
    quality: "policy_change",
    actor: actorOf(by),
    target: after.session_id,
    tags: ["roster"],
    payload: {
      change: before ? "agent_changed" : "agent_added",
      agent: after.session_id,
      members,
      before: before ? known(before) : null,
      after: known(after),
      roster_hash,
      by: { principal: id, kind, user, tenant, started },
    },
  };
}

function known({ kind = null, state = null, mandate = null }: Record<string, unknown>): unknown {
  return { kind, state, mandate };
}
