/**
 * Celador in Node: policies and guardrails for AI agents, decided in this process.
 *
 * In: manifests and policies, and what an agent does. Out: decisions. Tasks are in memory, in SQLite, in Postgres or on a server.
 */

import { celador } from "@celador/api";
import native from "#native";

export * from "@celador/api";

export const { load, agentFor, check, test, evaluate, restore } = celador(native);
