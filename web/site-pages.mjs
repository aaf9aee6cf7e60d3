/**
 * Writes the pages that name their own address once more, with that of one site: `node site-pages.mjs DIST TO ORIGIN`.
 * A build is shared by all who serve it, and what messengers show of a link takes whole addresses only.
 */

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const [dist, target, origin] = process.argv.slice(2)
const address = /(<meta property="og:(?:url|image)" content=")\//g
// Whole or not there: whoever finds the folder serves from it.
const draft = `${target}.new`

rmSync(draft, { recursive: true, force: true })
mkdirSync(draft, { recursive: true })
const files = readdirSync(dist, { recursive: true }).filter(
  (name) => name.endsWith('.html') && !name.startsWith('.'),
)
for (const name of files) {
  const page = readFileSync(join(dist, name), 'utf8')
  const addressed = page.replace(address, (_, before) => `${before}${origin}/`)
  if (addressed === page) continue
  const file = join(draft, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, addressed)
  writeFileSync(`${file}.br`, brotliCompressSync(addressed))
  writeFileSync(`${file}.gz`, gzipSync(addressed, { level: 9 }))
}
rmSync(target, { recursive: true, force: true })
renameSync(draft, target)
