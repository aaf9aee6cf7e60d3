import {
  DropdownMenu,
  DropdownMenuContent,
  DropdownMenuItem,
  DropdownMenuTrigger,
} from '@/components/ui/dropdown-menu'
import { ViewButton, type ViewMenuProps } from './view-button'

/** Opens as soon as it is there: it was asked for. */
export default function ViewMenuList({ compact, onChange }: ViewMenuProps) {
  return (
    <DropdownMenu defaultOpen>
      <DropdownMenuTrigger asChild>
        <ViewButton />
      </DropdownMenuTrigger>
      <DropdownMenuContent align="end">
        {compact ? (
          <DropdownMenuItem onSelect={() => onChange('classic')}>Classic View</DropdownMenuItem>
        ) : (
          <DropdownMenuItem onSelect={() => onChange('compact')}>Compact View</DropdownMenuItem>
        )}
      </DropdownMenuContent>
    </DropdownMenu>
  )
}
