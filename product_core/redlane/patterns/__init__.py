"""Regular expressions: RE2's, with the classes of Unicode, in linear time always.

Whoever writes the content that is judged would otherwise choose how long judging takes:
an engine that backtracks can be stalled with thirty bytes. What RE2 does not know is an
error that names the construct (`PatternError`), never a silent change of meaning.
"""

from redlane.patterns.compiled import CompiledPattern, compile_pattern
from redlane.patterns.dialect import translate
from redlane.patterns.refusals import PatternError
from redlane.patterns.substitution import replacement_problems, substitute

__all__ = [
    "CompiledPattern",
    "PatternError",
    "compile_pattern",
    "replacement_problems",
    "substitute",
    "translate",
]
