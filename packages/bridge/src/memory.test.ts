import { describe } from "vitest";
import { memoryContract } from "../test/memory-contract.ts";
import { VolatileMemory } from "./memory.ts";

describe("a memory in the process", () => {
  memoryContract(async () => new VolatileMemory());
});
