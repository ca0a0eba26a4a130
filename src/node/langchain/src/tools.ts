/** Tools of LangChain, as `agentFor` takes them. */

import type { JsonObject, Tool } from "@celador/api";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { isInteropZodSchema } from "@langchain/core/utils/types";
import { toJsonSchema } from "@langchain/core/utils/json_schema";

export function toolsOf(tools: readonly StructuredToolInterface[]): Tool[] {
  return tools.map(({ name, description, schema }) => ({
    name,
    description,
    inputSchema: (isInteropZodSchema(schema) ? toJsonSchema(schema) : schema) as unknown as JsonObject,
  }));
}
