import { realpath } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { type JsonObject, readContent, reinsMeta } from "@reins/acp";
import { type FileStamps, hasCode, visibleJson } from "@reins/kit";
import type { Harness, PolicyKeeper, Subject, Trust } from "@reins/supervisor";
import type { PreparedTurn, TurnPreparation } from "../governor/context.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import { promptText } from "../governor/prompt-content.ts";
import { FileError, readText } from "../governor/text-file.ts";
import { showUpdate } from "../governor/updates.ts";
import { InjectedSkills, type TurnSkills } from "../skills/injected-skills.ts";
import type { SkillLibrary } from "../skills/skill-library.ts";
import { NO_MAIL, type TenantMessaging, type TurnMail } from "./messaging.ts";
import { type OfferedTool, type PreambleParts, preambleFor } from "./preamble.ts";
import type { TurnOffers } from "./turn-offers.ts";

/** What turns are prepared with. */
export interface ConstitutionalPreparationOptions extends TurnContextOptions {
  /** The skills of folders, for agents that have no tool to load them. */
  readonly skills?: SkillLibrary | undefined;
  /** Gates the tools of turns; without it, none are named. */
  readonly offers?: Pick<TurnOffers, "gate" | "own"> | undefined;
  /** Receives what could not be read. */
  readonly onFault?: (reason: string) => void;
}

/** Gates the tools of every session that the governor runs for one tenant, and puts mail and constitution before its prompts. */
export class ConstitutionalPreparation implements TurnPreparation {
  readonly #options: ConstitutionalPreparationOptions;
  readonly #contexts = new WeakMap<GovernedSession, TurnContext>();
  readonly #injected = new WeakMap<GovernedSession, InjectedSkills>();
  /** Of sessions without any skill, the files that say so. */
  readonly #noSkills = new WeakMap<GovernedSession, FileStamps>();
  /** Whether these are current, for the turn that begins. */
  readonly #isWithout = new WeakMap<GovernedSession, Promise<boolean>>();

  constructor(options: ConstitutionalPreparationOptions) {
    this.#options = options;
  }

  lookAhead(session: GovernedSession): void {
    const stamps = this.#noSkills.get(session);
    // After the verdict is on its way to the disk: to wake other threads before would hold it up.
    if (stamps)
      this.#isWithout.set(
        session,
        setImmediate().then(() => stamps.areCurrent()),
      );
  }

  async compose(
    session: GovernedSession,
    subject: Subject,
    prompt: readonly unknown[],
    { params, inSystemPrompt, protocol }: Parameters<TurnPreparation["compose"]>[3],
  ): Promise<PreparedTurn> {
    const { offers, onFault } = this.#options;
    // Most agents bring tools that are not known, and few turns are announced with others.
    const isOffered = offers?.own.has(session.record.agent) || reinsMeta(params).turn !== undefined;
    const { tools, entries = [] } = (isOffered && (await offers?.gate(session, subject, params))) || {};
    const { commands } = session;
    const context = this.#contextOf(session);
    const skills = inSystemPrompt ? undefined : await this.#skillsFor(session, prompt);
    const { mail, faults, ...turn } = await context.compose(prompt, {
      ...{ subject, commands, inSystemPrompt, protocol },
      ...(tools && { tools }),
      ...(skills && { skills: skills.texts }),
    });
    for (const update of skills?.updates ?? []) await showUpdate(session, { ...update });
    for (const fault of [...faults, ...(skills?.faults ?? [])]) onFault?.(fault);
    return { ...turn, entries: [...entries, ...mail.entries] };
  }

  /** What fits a prompt; a command is for the agent itself. */
  async #skillsFor(session: GovernedSession, prompt: readonly unknown[]): Promise<TurnSkills | undefined> {
    const { skills } = this.#options;
    // Most sessions have no skill at all: then nothing else is done about them.
    const isWithout = this.#isWithout.get(session) ?? this.#noSkills.get(session)?.areCurrent();
    this.#isWithout.delete(session);
    if (!skills || (await isWithout)) return undefined;
    const words = promptText(prompt);
    if (words.trimStart().startsWith("/")) return undefined;
    const { principal, entry } = session.context;
    const injected = this.#injected.get(session) ?? new InjectedSkills(skills, entry.skills?.hint);
    this.#injected.set(session, injected);
    const found = await injected.forPrompt({ principal, roots: session.workspace.roots }, words);
    if (found.noneWhile) this.#noSkills.set(session, found.noneWhile);
    else this.#noSkills.delete(session);
    return found;
  }

  #contextOf(session: GovernedSession): TurnContext {
    const context = this.#contexts.get(session) ?? new TurnContext(this.#options);
    this.#contexts.set(session, context);
    return context;
  }
}

/** What turns are composed from. */
export interface TurnContextOptions {
  readonly harness: Pick<Harness, "home" | "policies" | "ledger">;
  /** Mail and board; turns have neither if absent. */
  readonly messaging?: TenantMessaging | undefined;
}

/** Whose turn it is. */
export interface TurnCircumstances {
  readonly subject: Subject;
  /** The tools that policy lets the agent see, where they are known. */
  readonly tools?: readonly OfferedTool[];
  /** The commands the agent has announced. It knows one only at the beginning of a prompt. */
  readonly commands?: readonly string[];
  /** Whether the agent takes the preamble into its system prompt, so that no prompt has to hold it. */
  readonly inSystemPrompt?: boolean;
  /** How it declares action graphs, where it is configured for that. */
  readonly protocol?: string | undefined;
  /** The instructions of the skills that fit the prompt. */
  readonly skills?: readonly string[];
}

/** A turn as the agent gets it: mail, preamble, and the user's own blocks as they came. */
export interface ComposedTurn extends Omit<PreparedTurn, "entries"> {
  /** The mail that was put into it. */
  readonly mail: TurnMail;
  /** What could not be read. */
  readonly faults: readonly string[];
}

/** A context that holds less than this part of what it held was compacted. */
const COMPACTED = 0.5;

/**
 * What is put before the prompts of one session: unread mail at position 0, then the constitution, mandate, board and
 * tools. The native agent has the latter in the system prompt of every request. Others get it in the first prompt,
 * and again when they have changed, when a prompt came to nothing and when it has compacted its context.
 */
export class TurnContext {
  readonly #options: TurnContextOptions;
  #said: string | undefined;
  /** The instructions of skills that the agent was given. */
  readonly #skillsSaid = new Set<string>();
  #contextTokens = 0;
  /** The last preamble, and what it was made from. */
  #made: { readonly parts: PreambleParts; readonly text: string } | undefined;

  constructor(options: TurnContextOptions) {
    this.#options = options;
  }

  /** Puts a turn together. The mail in it is recorded, and read once the turn has delivered it. */
  async compose(prompt: readonly unknown[], circumstances: TurnCircumstances): Promise<ComposedTurn> {
    const faults: string[] = [];
    const preamble = await this.#preamble(circumstances, faults);
    const instructions = circumstances.inSystemPrompt ? preamble : undefined;
    if (isCommand(prompt, circumstances.commands ?? []))
      return {
        prompt,
        instructions,
        mail: NO_MAIL,
        faults,
        end: async ({ contextTokens }) => this.#notice(contextTokens),
      };
    // Mail comes last, because from then on it is taken.
    const mail = await this.#mail(circumstances.subject, faults);
    const skills = (circumstances.skills ?? []).filter((one) => !this.#skillsSaid.has(one));
    const before = [
      ...(mail.text === undefined ? [] : [text(mail.text)]),
      ...(circumstances.inSystemPrompt || preamble === this.#said ? [] : [text(preamble)]),
      ...skills.map(text),
    ];
    const end = async ({ delivered, contextTokens }: Parameters<PreparedTurn["end"]>[0]) => {
      this.#said = delivered ? preamble : undefined;
      if (delivered) for (const one of skills) this.#skillsSaid.add(one);
      this.#notice(contextTokens);
      if (mail.text !== undefined) await mail.settle({ delivered });
    };
    return { prompt: [...before, ...prompt], instructions, mail, faults, end };
  }

  /** Says the preamble again in the next turn of an agent whose context has shrunk. */
  #notice(contextTokens: number): void {
    if (contextTokens === 0) return;
    if (contextTokens < this.#contextTokens * COMPACTED) {
      this.#said = undefined;
      this.#skillsSaid.clear();
    }
    this.#contextTokens = contextTokens;
  }

  async #preamble({ subject, tools, protocol }: TurnCircumstances, faults: string[]): Promise<string> {
    const { harness, messaging } = this.#options;
    const { fault, ...manifest } = await manifestOf(subject, harness);
    if (fault !== undefined) faults.push(fault);
    const excerpt = await messaging?.board.excerpt();
    if (excerpt) addFaults(faults, excerpt.faults);
    const parts = { ...manifest, board: excerpt?.lines ?? [], ...(tools && { tools }), protocol };
    if (!this.#made || !isSame(this.#made.parts, parts)) this.#made = { parts, text: preambleFor(parts) };
    return this.#made.text;
  }

  async #mail(subject: Subject, faults: string[]): Promise<TurnMail> {
    const { harness, messaging } = this.#options;
    const mail = (await messaging?.mailbox.injectUnread(subject, harness.ledger)) ?? NO_MAIL;
    addFaults(faults, mail.faults);
    return mail;
  }
}

/** Whether two preambles would be the same. */
function isSame(before: PreambleParts, now: PreambleParts): boolean {
  return (
    before.agent === now.agent &&
    before.trust === now.trust &&
    before.constitutionHash === now.constitutionHash &&
    before.prose === now.prose &&
    before.mandate === now.mandate &&
    before.tools === now.tools &&
    before.protocol === now.protocol &&
    before.board.length === now.board.length &&
    before.board.every((line, index) => line === now.board[index])
  );
}

function addFaults(faults: string[], more: readonly string[]): void {
  for (const fault of more) if (!faults.includes(fault)) faults.push(fault);
}

/** A block that is none of the person's words. */
function text(words: string): JsonObject {
  return { type: "text", text: words, annotations: { audience: ["assistant"] } };
}

function isCommand([first]: readonly unknown[], commands: readonly string[]): boolean {
  if (commands.length === 0) return false;
  const { type, text: words } = readContent(first);
  if (type !== "text" || words === undefined) return false;
  const [, name] = /^\s*\/(\S+)/.exec(words) ?? [];
  return name !== undefined && commands.includes(name);
}

/** What an agent is under this constitution. */
export interface Manifest {
  readonly agent: string;
  readonly trust: Trust;
  readonly mandate: string;
  readonly constitutionHash: string | undefined;
  /** The constitution in words. */
  readonly prose: string;
  /** Why the agent's own mandate could not be read, if it has one. */
  readonly fault?: string;
}

/** Where manifests come from. */
export interface ManifestSources {
  readonly home: string;
  readonly policies: Pick<PolicyKeeper, "roster" | "inForce">;
}

/** The mandate of a roster agent without one of its own. */
const REGISTERED_MANDATE =
  "Do what the user asks of you, in the workspace you were given. Say what you did and what is left to do.";

/** The prose of constitutions, read once. */
const proses = new WeakMap<object, string>();

function proseOf(text: { readonly prose: Uint8Array }): string {
  const prose = proses.get(text) ?? Buffer.from(text.prose).toString();
  proses.set(text, prose);
  return prose;
}

/**
 * The manifest of an agent. How far it is trusted is what identity found when the session began, never more: an
 * agent that only claims a name on the roster does not get that name's mandate.
 */
export async function manifestOf(
  { agent, trust, tenant }: Pick<Subject, "agent" | "trust" | "tenant">,
  { home, policies }: ManifestSources,
): Promise<Manifest> {
  const policy = policies.inForce.get(tenant);
  const manifest = {
    agent,
    trust,
    constitutionHash: policy?.hashes.constitution_hash,
    prose: policy ? proseOf(policy.text) : "",
  };
  if (trust === "unknown") return { ...manifest, mandate: policy?.file.default_mandate ?? "" };
  const name = policies.roster.find(agent)?.mandate;
  if (name === undefined) return { ...manifest, mandate: REGISTERED_MANDATE };
  const { text, fault } = await readMandate(home, name);
  if (text !== undefined) return { ...manifest, mandate: text };
  return {
    ...manifest,
    mandate: REGISTERED_MANDATE,
    fault: `the mandate ${visibleJson(name)} of ${visibleJson(agent)}: ${fault}`,
  };
}

const MAX_LENGTH = 32 << 10;
/** What a mandate is written in. Keys and databases have other names, so that no roster can make one of them known. */
const EXTENSIONS: ReadonlySet<string> = new Set([".md", ".markdown", ".txt"]);

/** A mandate, or why it cannot be had. */
type MandateText =
  | { readonly text: string; readonly fault?: undefined }
  | { readonly text?: undefined; readonly fault: string };

/** Reads the file that a roster names, from the home or its folder `mandates`. Nothing outside of the home is read. */
export async function readMandate(home: string, name: string): Promise<MandateText> {
  for (const path of [resolve(home, name), resolve(home, "mandates", name)]) {
    const found = await readInside(home, path);
    if (found) return found;
  }
  return { fault: "there is no such file in the home or in its folder mandates" };
}

async function readInside(home: string, path: string): Promise<MandateText | undefined> {
  try {
    const kind = extname(await realpath(path)).toLowerCase();
    if (!EXTENSIONS.has(kind)) return { fault: "a mandate is a .md or .txt file" };
    const { content } = await readText(path, {}, [await realpath(home)]);
    if (content.length <= MAX_LENGTH) return { text: content };
    return { fault: `a mandate has at most ${MAX_LENGTH} characters` };
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    if (error instanceof FileError) return { fault: "it is not a plain file inside of the home" };
    if (error instanceof Error && "code" in error) return { fault: `it cannot be read (${error.message})` };
    throw error;
  }
}
