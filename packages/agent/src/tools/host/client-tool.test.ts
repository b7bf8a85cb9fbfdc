import { describe, expect, test } from "vitest";
import { toolContext, use } from "../../testing/tool-context.ts";
import { testWorkspace } from "../../testing/workspace.ts";
import type { ClientToolService } from "../host-services.ts";
import { clientTools } from "./client-tool.ts";

const service: ClientToolService = {
  offered: (sessionId) => [
    { name: `ring_${sessionId}`, description: "Rings", parameters: { type: "object" } },
  ],
  call: async (sessionId, name, input) => ({
    text: `${sessionId} ${name} ${JSON.stringify(input)}`,
    isError: false,
  }),
};

describe("a tool that the client brings along", () => {
  test("is carried out by the client of its own session", async () => {
    const { cwd } = await testWorkspace();
    const services = { clientTools: service };
    const context = toolContext(cwd, { services });
    const [ring] = clientTools(services, context.sessionId);
    if (!ring) throw new Error("nothing is offered");
    expect(ring).toMatchObject({ name: `ring_${context.sessionId}`, isReadOnly: false, isInner: false });
    expect(await use(ring, { times: 2 }, context)).toEqual({
      text: `${context.sessionId} ${ring.name} {"times":2}`,
      isError: false,
    });
    expect(() => ring.call("twice")).toThrow("are no object");
  });

  test("is offered by nobody where there is no such service", () => {
    expect(clientTools({}, "s")).toEqual([]);
  });
});
