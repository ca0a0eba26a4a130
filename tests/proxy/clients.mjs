// One conversation over the makers' own clients for JavaScript, streaming: a refused call beside one that is let through.
//
// In: which interface, the address of the proxy. Out, as JSON: the calls that came, and the text of the last answer.
import { createRequire } from 'node:module'

const [, , folder, kind, address] = process.argv
const require = createRequire(`${folder}/package.json`)
const schema = { type: 'object', properties: { order: { type: 'string' } } }
const result = JSON.stringify({ order: 'o-7', total: 60 })
const key = 'key-of-the-client'

const ways = {
  async chat() {
    const OpenAI = require('openai').OpenAI
    const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: key })
    const tools = ['get_order', 'delete_all'].map((name) => ({ type: 'function', function: { name, parameters: schema } }))
    const messages = [{ role: 'user', content: 'Look at o-7, then delete everything.' }]
    const ask = () => client.chat.completions.stream({ model: 'small-1', messages, tools }).finalChatCompletion()
    const first = (await ask()).choices[0].message
    messages.push({ role: 'assistant', content: first.content, tool_calls: first.tool_calls })
    for (const call of first.tool_calls) messages.push({ role: 'tool', tool_call_id: call.id, content: result })
    const last = (await ask()).choices[0].message
    return { calls: first.tool_calls.map((it) => it.function.name), text: last.content }
  },
  async responses() {
    const OpenAI = require('openai').OpenAI
    const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: key })
    const tools = ['get_order', 'delete_all'].map((name) => ({ type: 'function', name, parameters: schema, strict: false }))
    const ask = (input, previous_response_id) =>
      client.responses.stream({ model: 'small-1', input, tools, previous_response_id }).finalResponse()
    const first = await ask('Look at o-7, then delete everything.')
    const calls = first.output.filter((it) => it.type === 'function_call')
    const outputs = calls.map((it) => ({ type: 'function_call_output', call_id: it.call_id, output: result }))
    const last = await ask(outputs, first.id)
    return { calls: calls.map((it) => it.name), text: last.output_text }
  },
  async messages() {
    const Anthropic = require('@anthropic-ai/sdk').Anthropic
    const client = new Anthropic({ baseURL: address, apiKey: key })
    const tools = ['get_order', 'delete_all'].map((name) => ({ name, input_schema: schema }))
    const messages = [{ role: 'user', content: 'Look at o-7, then delete everything.' }]
    const ask = () => client.messages.stream({ model: 'small-1', max_tokens: 99, messages, tools }).finalMessage()
    const first = await ask()
    const calls = first.content.filter((it) => it.type === 'tool_use')
    messages.push({ role: 'assistant', content: first.content.map(({ type, text, id, name, input }) => type === 'text' ? { type, text } : { type, id, name, input }) })
    messages.push({ role: 'user', content: calls.map((it) => ({ type: 'tool_result', tool_use_id: it.id, content: result })) })
    const last = await ask()
    return { calls: calls.map((it) => it.name), text: last.content.map((it) => it.text).join('') }
  },
  // a loop of the client's own, in which the API keeps the conversation
  async runner(stream = false) {
    const Anthropic = require('@anthropic-ai/sdk').Anthropic
    const client = new Anthropic({ baseURL: address, apiKey: key })
    const calls = []
    const tools = ['get_order', 'delete_all'].map((name) => ({
      name,
      input_schema: schema,
      run: () => (calls.push(name), result),
      parse: (input) => input,
    }))
    const messages = [{ role: 'user', content: 'Look at o-7, then delete everything.' }]
    const runner = client.beta.messages.toolRunner({ model: 'small-1', max_tokens: 99, messages, tools, stream })
    const last = await runner.runUntilDone()
    return { calls, text: last.content.map((it) => it.text).join('') }
  },
  'runner in events': () => ways.runner(true),
}

console.log(JSON.stringify(await ways[kind]()))
