import { HandshakeRequest } from "@reins/ahp";
import { expect, test } from "vitest";
import { mistypedEach, withoutEach } from "./mutations.ts";
import { HANDSHAKE } from "./samples.ts";

test("leaves out every required member, at every level", () => {
  expect(withoutEach(HandshakeRequest, HANDSHAKE).map(({ what }) => what)).toEqual([
    "protocol_version left out",
    "agent_info left out",
    "agent_info.framework left out",
    "agent_info.version left out",
    "agent_info.capabilities left out",
    "session_id left out",
    "agent_id left out",
  ]);
});

test("gives members wrong types, and leaves out what happens to be right", () => {
  const { agent_info: _, ...flat } = HANDSHAKE;
  const mutations = mistypedEach(HandshakeRequest, HANDSHAKE).filter(({ member }) => member === "session_id");
  expect(mutations.map(({ value }) => value)).toMatchObject([
    { ...flat, session_id: null },
    { ...flat, session_id: 5 },
    { ...flat, session_id: true },
  ]);
});
