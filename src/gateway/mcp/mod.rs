//! A guard between an MCP client and its server, over pipes and over streamable HTTP.
