import type { Handlers } from "@reins/ahp";
import { errorMessage } from "../../../errors.ts";
import type { Log } from "../../../log.ts";

/** Handlers that do the same and leave a trace in the log: what they decided, and with what error they failed. */
export function observed(handlers: Handlers, log: Log): Handlers {
  return new Proxy(handlers, {
    get(target, name) {
      const handler: unknown = Reflect.get(target, name);
      if (typeof handler !== "function") return handler;
      return async (...args: unknown[]) => {
        const call = { handler: String(name) };
        try {
          const result: unknown = await Reflect.apply(handler, target, args);
          log.debug({ ...call, decision: decisionIn(result) }, "answered");
          return result;
        } catch (error) {
          const stack = log.isLevelEnabled("debug") ? { stack: stackOf(error) } : {};
          log.error({ ...call, error: errorMessage(error), ...stack }, "a handler failed");
          throw error;
        }
      };
    },
  });
}

function decisionIn(result: unknown): unknown {
  return typeof result === "object" && result !== null && "decision" in result ? result.decision : undefined;
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
