import { Moon, Sun } from 'lucide-react'
import type { ComponentProps } from 'react'
import { Button } from '@/components/ui/button'

export function ThemeButton(props: ComponentProps<'button'>) {
  return (
    <Button variant="ghost" size="icon" aria-label="Theme" title="Theme" aria-haspopup="menu" {...props}>
      <Sun className="dark:hidden" aria-hidden />
      <Moon className="hidden dark:block" aria-hidden />
    </Button>
  )
}
