import { isObject } from "@reins/acp";
import {
  HOST_SOURCE,
  type HostTool,
  type HostTools,
  hostToolDescription,
  hostToolText,
  modelToolName,
  qualifiedNames,
} from "@reins/bridge";
import { errorMessage } from "@reins/kit";
import { type Tool, ToolError } from "./tool.ts";

const ANY_OBJECT = { type: "object" };

/**
 * The tools that the host of a session lends, beside tools that have their names already. One with the name of another is
 * qualified; one whose name is still taken then is left out.
 */
export function lentTools(
  hostTools: HostTools,
  lent: readonly HostTool[],
  others: readonly Pick<Tool, "name">[],
): readonly Tool[] {
  const own = others.map(({ name }) => ({ name }));
  const named = qualifiedNames([...own, ...lent.map(({ name }) => ({ source: HOST_SOURCE, name }))]);
  const taken = new Set(own.map(({ name }) => name));
  return lent.flatMap((tool, index) => {
    const name = modelToolName(named[own.length + index] ?? tool.name);
    if (taken.has(name)) return [];
    taken.add(name);
    return [lentTool(hostTools, tool, name)];
  });
}

function lentTool(hostTools: HostTools, lent: HostTool, name: string): Tool {
  return {
    name,
    source: HOST_SOURCE,
    label: lent.name,
    decidedAs: `${HOST_SOURCE}/${lent.name}`,
    description: hostToolDescription(lent),
    parameters: lent.schema ?? ANY_OBJECT,
    kind: "other",
    // A host's claims about its tools do not make them available in plan mode.
    isReadOnly: false,
    isInner: false,
    call(given) {
      if (!isObject(given)) throw new ToolError("malformed", `the arguments of ${name} are not an object`);
      return {
        title: `${HOST_SOURCE}: ${lent.name}`,
        prepare: async () => ({}),
        async perform({ sessionId, signal, toolCallId }) {
          try {
            const result = await hostTools.hostToolCall(lent.name, given, { sessionId, signal, toolCallId });
            return { text: hostToolText(result) };
          } catch (error) {
            signal.throwIfAborted();
            throw new ToolError("failed", errorMessage(error), { cause: error });
          }
        },
      };
    },
  };
}
