import { isObject } from "../../acp/message.ts";
import type { ClientTool, ClientToolService, HostServices } from "../host-services.ts";
import type { Tool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";

const MAX_DESCRIPTION = 2_000;

/** The tools that the client of a session carries out in this turn, asked about like any other. */
export function clientTools({ clientTools: service }: HostServices, sessionId: string): readonly Tool[] {
  return service ? service.offered(sessionId).map((tool) => clientTool(service, tool)) : [];
}

function clientTool(service: ClientToolService, { name, description, parameters }: ClientTool): Tool {
  return {
    name,
    description: description.slice(0, MAX_DESCRIPTION),
    parameters,
    kind: "other",
    // What a client says of its tools is a claim, and no reason to use them while planning.
    isReadOnly: false,
    isInner: false,
    call(given) {
      if (!isObject(given)) throw new ToolError("malformed", `the arguments of ${name} are no object`);
      return {
        title: name,
        prepare: async () => ({}),
        perform: ({ sessionId, signal }) => service.call(sessionId, name, given, signal),
      };
    },
  };
}
