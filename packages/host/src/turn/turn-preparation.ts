import type { Subject } from "@reins/supervisor";
import type { PreparedTurn, TurnPreparation } from "../governor/context.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { OfferedTool } from "./preamble.ts";
import { TurnContext, type TurnContextOptions } from "./turn-context.ts";

/** What preparing turns stands on. */
export interface ConstitutionalPreparationOptions extends TurnContextOptions {
  /** The tools that policy lets the agent of a session see, where they are known. */
  readonly toolsOf?: (session: GovernedSession) => readonly OfferedTool[] | undefined;
  /** Told what could not be read. */
  readonly onFault?: (reason: string) => void;
}

/** Puts mail and constitution before the prompts of every session that the governor runs for one tenant. */
export class ConstitutionalPreparation implements TurnPreparation {
  readonly #options: ConstitutionalPreparationOptions;
  readonly #contexts = new WeakMap<GovernedSession, TurnContext>();

  constructor(options: ConstitutionalPreparationOptions) {
    this.#options = options;
  }

  async compose(
    session: GovernedSession,
    subject: Subject,
    prompt: readonly unknown[],
    { inSystemPrompt = false }: { readonly inSystemPrompt?: boolean } = {},
  ): Promise<PreparedTurn> {
    const { toolsOf, onFault } = this.#options;
    const tools = toolsOf?.(session);
    const { commands } = session;
    const context = this.#contextOf(session);
    const { mail, faults, ...turn } = await context.compose(prompt, {
      ...{ subject, commands, inSystemPrompt },
      ...(tools && { tools }),
    });
    for (const fault of faults) onFault?.(fault);
    return { ...turn, entries: mail.entries };
  }

  #contextOf(session: GovernedSession): TurnContext {
    const context = this.#contexts.get(session) ?? new TurnContext(this.#options);
    this.#contexts.set(session, context);
    return context;
  }
}
