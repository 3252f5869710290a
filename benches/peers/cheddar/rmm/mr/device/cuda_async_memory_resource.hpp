#pragma once
#include <rmm/mr/device/binning_memory_resource.hpp>
