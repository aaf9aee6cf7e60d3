import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What becomes of a request: passed on, lost before the server has it, or answered into a cut connection. */
type Fate = 'pass' | 'lost' | 'unanswered'

/**
 * A network between a browser and the stack that can really be cut: a proxy that closes connections. Nothing in the
 * browser knows of it.
 */
export class Network {
  readonly #server: Server
  #fate: (request: IncomingMessage) => Fate = () => 'pass'

  private constructor() {
    this.#server = createServer((incoming, response) => this.#handle(incoming, response))
  }

  static async open(): Promise<Network> {
    const network = new Network()
    await new Promise<void>((ready) => network.#server.listen(0, '127.0.0.1', ready))
    return network
  }

  /** For `browser.newContext`: loopback addresses go through it too. */
  get proxy(): { server: string; bypass: string } {
    const { port } = this.#server.address() as AddressInfo
    return { server: `http://127.0.0.1:${port}`, bypass: '<-loopback>' }
  }

  /** Cuts what the condition names, in this way; without one everything passes again. */
  cut(fate: Exclude<Fate, 'pass'>, condition: (request: IncomingMessage) => boolean): void {
    this.#fate = (request) => (condition(request) ? fate : 'pass')
  }

  mend(): void {
    this.#fate = () => 'pass'
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #handle(incoming: IncomingMessage, response: ServerResponse): void {
    const fate = this.#fate(incoming)
    if (fate === 'lost') {
      incoming.socket.destroy()
      return
    }
    const { method, headers, url = '' } = incoming
    const outgoing = request(url, { method, headers }, (answer) => {
      if (fate === 'unanswered') {
        answer.resume()
        answer.on('end', () => incoming.socket.destroy())
        return
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => incoming.socket.destroy())
    incoming.pipe(outgoing)
  }
}
