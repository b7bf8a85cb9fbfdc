import { resolve } from "node:path";
import { ENFORCEMENTS, type Roster, STARTS, type Subject, TRUST_LEVELS } from "@reins/policy";
import { CliError } from "../../../errors.ts";
import type { PolicyFlags } from "../constitution-file.ts";
import type { GivenEvent } from "./event.ts";

/** The flags of `reins policy explain` as they were written. */
export interface ExplainFlags extends PolicyFlags {
  readonly file?: string;
  readonly cwd?: string;
  readonly workspace?: readonly string[];
  readonly agent?: string;
  readonly tools?: string;
  readonly trust?: string;
  readonly enforcement: string;
  readonly session?: string;
  readonly user: string;
  readonly tenant: string;
  readonly role?: readonly string[];
  readonly scope?: readonly string[];
  readonly started: string;
  readonly mode: string;
  readonly at?: string;
}

/** Who the event is from, and where and when it comes to pass. */
export interface ExplainSettings {
  readonly subject: Subject;
  readonly cwd: string;
  readonly roots: readonly string[];
  /** Whose table of tools applies. */
  readonly tools: string;
  readonly at: number;
}

const NATIVE_AGENT = "native";
const SOME_SESSION = "explain";

/** Reads the flags; what they leave open is taken from the event, the roster and this machine. */
export function settleExplain(
  flags: ExplainFlags,
  event: GivenEvent,
  roster: Pick<Roster, "trustOf">,
  now: Date,
): ExplainSettings {
  const agent = flags.agent ?? event.agent_id ?? NATIVE_AGENT;
  const cwd = resolve(flags.cwd ?? ".");
  return {
    subject: {
      user: flags.user,
      tenant: flags.tenant,
      roles: flags.role ?? [],
      scopes: flags.scope ?? ["*"],
      agent,
      trust: flags.trust === undefined ? roster.trustOf(agent) : oneOf(TRUST_LEVELS, flags.trust, "--trust"),
      session: flags.session ?? event.session_id ?? SOME_SESSION,
      started: oneOf(STARTS, flags.started, "--started"),
      chain: [],
      depth: event.depth,
      mode: flags.mode,
      enforcement: oneOf(ENFORCEMENTS, flags.enforcement, "--enforcement"),
    },
    cwd,
    roots: flags.workspace?.map((folder) => resolve(folder)) ?? [cwd],
    tools: flags.tools ?? agent,
    at: flags.at === undefined ? now.getTime() : readTime(flags.at),
  };
}

function oneOf<Word extends string>(words: readonly Word[], text: string, flag: string): Word {
  const word = words.find((each) => each === text);
  if (word !== undefined) return word;
  throw new CliError(`${flag} is "${text}".`, { next: `Use one of: ${words.join(", ")}.` });
}

function readTime(text: string): number {
  const time = Date.parse(text);
  if (!Number.isNaN(time)) return time;
  throw new CliError(`--at is "${text}".`, { next: "Give a time such as 2026-11-15T05:20:00Z." });
}
