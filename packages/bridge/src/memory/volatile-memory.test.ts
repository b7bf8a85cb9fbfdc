import { describe } from "vitest";
import { memoryContract } from "./testing/contract.ts";
import { VolatileMemory } from "./volatile-memory.ts";

describe("a memory in the process", () => {
  memoryContract(async () => new VolatileMemory());
});
