import { readdirSync, readFileSync } from 'node:fs'
import { extendTailwindMerge } from 'tailwind-merge'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { cn, fontSizes } from './cn'

const whole = extendTailwindMerge({
  extend: {
    classGroups: {
      'font-size': [{ text: [...fontSizes] }],
      shadow: [{ shadow: ['popover', 'dialog', 'none'] }],
      rounded: [{ rounded: ['mark', 'badge', 'control', 'card'] }],
    },
  },
})

const root = `${import.meta.dirname}/..`
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.includes('.test.'))
  .map((name) =>
    ts.createSourceFile(name, readFileSync(`${root}/${name}`, 'utf8'), ts.ScriptTarget.Latest, true),
  )

function each(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node)
  ts.forEachChild(node, (child) => each(child, visit))
}

/** What stands behind a name anywhere; the same name twice counts for both, which only adds pairs. */
const constants = new Map<string, Set<string>>()

const known = new Map<string, boolean>()

/** Whether one of the two takes a word for a class: such a one does not stand twice. */
function isClass(word: string): boolean {
  let answer = known.get(word)
  if (answer === undefined) {
    const twice = `${word} ${word}`
    answer = whole(twice) !== twice || cn(twice) !== twice
    known.set(word, answer)
  }
  return answer
}

/** The classes that an expression may give, those behind its names included. */
function classes(node: ts.Node): Set<string> {
  const found = new Set<string>()
  each(node, (part) => {
    if (ts.isStringLiteralLike(part))
      for (const word of part.text.split(/\s+/)) if (word && isClass(word)) found.add(word)
    if (ts.isIdentifier(part)) for (const name of constants.get(part.text) ?? []) found.add(name)
  })
  return found
}

function gather(): void {
  for (const file of files)
    each(file, (node) => {
      if (!ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name) || !node.initializer) return
      const { text } = node.name
      constants.set(text, new Set([...(constants.get(text) ?? []), ...classes(node.initializer)]))
    })
}

function componentOf(node: ts.Node): string {
  const within = ts.findAncestor(node, ts.isFunctionDeclaration)
  return within?.name?.text ?? ''
}

/**
 * Every two classes of which the second may come after the first in one call of `cn`; and those that stand together in
 * one argument, or are each other's alternative there.
 */
function meetings() {
  const met = new Set<string>()
  const together = new Set<string>()
  const pair = (first: Set<string>, second: Set<string>, into: Set<string>) => {
    for (const one of first) for (const other of second) if (one !== other) into.add(`${one} ${other}`)
  }
  const meet = (first: Set<string>, second: Set<string>) => pair(first, second, met)
  const gatherTogether = (given: Set<string>) => pair(given, given, together)
  // What a component's own classes are, and to which components it hands those it is given.
  const own = new Map<string, Set<string>>()
  const hands = new Map<string, Set<string>>()
  const add = (map: Map<string, Set<string>>, key: string, more: Iterable<string>) =>
    map.set(key, new Set([...(map.get(key) ?? []), ...more]))
  const uses: [string, Set<string>][] = []
  for (const file of files)
    each(file, (node) => {
      if (ts.isCallExpression(node) && node.expression.getText() === 'cn') {
        const given = node.arguments.map(classes)
        given.forEach((first, at) => given.slice(at + 1).forEach((second) => meet(first, second)))
        given.forEach(gatherTogether)
        for (const one of given) add(own, componentOf(node), one)
      }
      // A size stands beside a variant and the base.
      if (ts.isCallExpression(node) && node.expression.getText() === 'cva') meet(classes(node), classes(node))
      if (!ts.isJsxOpeningElement(node) && !ts.isJsxSelfClosingElement(node)) return
      const tag = node.tagName.getText()
      for (const attribute of node.attributes.properties) {
        if (ts.isJsxSpreadAttribute(attribute)) add(hands, componentOf(node), [tag])
        else if (attribute.name.getText() === 'className' && attribute.initializer) {
          uses.push([tag, classes(attribute.initializer)])
          if (attribute.initializer.getText().includes('className')) add(hands, componentOf(node), [tag])
        }
      }
    })
  for (const [tag, given] of uses) {
    const reached = new Set([tag])
    for (const name of reached) for (const next of hands.get(name) ?? []) reached.add(next)
    for (const name of reached) meet(own.get(name) ?? new Set(), given)
    if ([...reached].some((name) => own.has(name))) gatherTogether(given)
  }
  return { met, together }
}

// Twice, because a constant may be made of others.
gather()
gather()
const { met, together } = meetings()

test('of two classes that meet somewhere, the one that tailwind-merge keeps is kept', () => {
  const pairs = [...met]
  expect(pairs.length).toBeGreaterThan(1000)
  expect(pairs.filter((pair) => whole(pair) !== pair).length).toBeGreaterThan(50)
  expect(pairs.filter((pair) => cn(pair) !== whole(pair)).map((pair) => `${pair} => ${whole(pair)}`)).toEqual(
    [],
  )
})

test('of two classes that stand together, none is lost that tailwind-merge keeps', () => {
  const pairs = [...together].filter((pair) => whole(pair) === pair)
  expect(pairs).toContain('gap-x-3 gap-y-1')
  expect(pairs.filter((pair) => cn(pair) !== pair)).toEqual([])
})
