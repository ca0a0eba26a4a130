/**
 * Celador in Node: policies and guardrails for AI agents, decided in this process.
 *
 * In: manifests and policies, and what an agent does. Out: decisions. Tasks are in memory, in SQLite, in Postgres or on a server.
 */

import { celador } from "@celador/api";
import native from "#native";

export * from "@celador/api";

export const {
  load,
  agentFor,
  check,
  analysis,
  test,
  explain,
  diff,
  prove,
  fmt,
  replay,
  replayLines,
  addReplays,
  evaluate,
  restore,
} = celador(native);
