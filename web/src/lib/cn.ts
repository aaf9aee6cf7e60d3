import { clsx, type ClassValue } from 'clsx'
import { createTailwindMerge } from 'tailwind-merge'

/** The type scale is ours: without a list its names could be colours. */
export const fontSizes = [
  'caption',
  'compact',
  'body',
  'field',
  'lead',
  'section',
  'title-phone',
  'title',
  'figure',
  'figure-mid',
  'hero',
  'display-phone',
  'display-beside',
  'display',
] as const

const any = () => true

// Only what meets in this app (cn.test.ts): the library's own list of everything weighs as much as a page.
const merge = createTailwindMerge(() => ({
  cacheSize: 500,
  theme: {},
  classGroups: {
    display: ['block', 'inline-block', 'flex', 'inline-flex', 'grid', 'table', 'hidden', 'contents'],
    position: ['static', 'relative', 'absolute', 'fixed', 'sticky'],
    z: [{ z: [any] }],
    'inset-x': [{ 'inset-x': [any] }],
    left: [{ left: [any] }],
    'grid-cols': [{ 'grid-cols': [any] }],
    justify: [{ justify: [any] }],
    items: [{ items: [any] }],
    gap: [{ gap: [any] }],
    'gap-x': [{ 'gap-x': [any] }],
    'gap-y': [{ 'gap-y': [any] }],
    shrink: [{ shrink: ['', any] }],
    size: [{ size: [any] }],
    h: [{ h: [any] }],
    w: [{ w: [any] }],
    'min-h': [{ 'min-h': [any] }],
    'min-w': [{ 'min-w': [any] }],
    'max-w': [{ 'max-w': [any] }],
    p: [{ p: [any] }],
    px: [{ px: [any] }],
    pt: [{ pt: [any] }],
    mt: [{ mt: [any] }],
    rounded: [{ rounded: ['mark', 'badge', 'control', 'card'] }],
    border: [{ border: ['', '2'] }],
    'border-t': [{ 'border-t': ['', any] }],
    'border-b': [{ 'border-b': ['', any] }],
    'border-l': [{ 'border-l': ['', any] }],
    'border-style': [{ border: ['solid', 'dashed'] }],
    'border-color': [{ border: [any] }],
    outline: [{ outline: ['', '2'] }],
    'outline-offset': [{ 'outline-offset': [any] }],
    whitespace: [{ whitespace: [any] }],
    font: [{ font: ['normal', 'medium', 'semibold'] }],
    'font-size': [{ text: [...fontSizes] }],
    'text-align': [{ text: ['left', 'center', 'right'] }],
    'text-color': [{ text: [any] }],
    bg: [{ bg: [any] }],
  },
  conflictingClassGroups: {
    'inset-x': ['left'],
    gap: ['gap-x', 'gap-y'],
    size: ['h', 'w'],
    p: ['px', 'pt', 'pr', 'pl'],
    px: ['pr', 'pl'],
    border: ['border-t', 'border-b', 'border-l'],
  },
  conflictingClassGroupModifiers: {},
  orderSensitiveModifiers: [],
}))

/** Joins class names; of two that set the same thing, the later one holds. */
export function cn(...classes: ClassValue[]): string {
  return merge(clsx(classes))
}
