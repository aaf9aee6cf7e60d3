import type { ComponentProps } from 'react'
import { expectTypeOf, it } from 'vitest'
import type { Button } from './button'

type Props = ComponentProps<typeof Button>

it('takes no press and no work for a child that has its own', () => {
  expectTypeOf<{ asChild: true }>().toExtend<Props>()
  expectTypeOf<{ asChild: true; onClick: () => void }>().not.toExtend<Props>()
  expectTypeOf<{ asChild: true; busy: string }>().not.toExtend<Props>()
  expectTypeOf<{ onClick: () => void; busy: string }>().toExtend<Props>()
})
